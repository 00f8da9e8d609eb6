"""Timed calls of the baseline: where their inputs lie, and whose outputs are compared."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from profilers.children.protocol import RequestRefused  # noqa: E402
from profilers.kernelbench.oracle import baseline  # noqa: E402
from profilers.kernelbench.oracle.baseline import Baseline, TimedBaseline  # noqa: E402
from profilers.kernelbench.oracle.draws import Draw  # noqa: E402
from profilers.kernelbench.oracle.reference import ReferenceModel  # noqa: E402
from profilers.kernelbench.shared.problem import ProblemFile  # noqa: E402
from profilers.kernelbench.shared.shared_memory import BufferWriter, SharedBuffer  # noqa: E402
from profilers.kernelbench.shared.values import encode  # noqa: E402
from tests.support.kernelbench_problems import function  # noqa: E402

BUFFER_BYTES = 1 << 16


class DoublingBaseline:
    """A baseline that doubles its input, and draws to call it on."""

    def __init__(self, folder: Path) -> None:
        path = function(folder, "x * 2", inputs="[torch.rand(6, 50)]")
        problem = ProblemFile(path, torch.device("cpu"))
        reference = ReferenceModel(problem, problem.model(1), tf32=False, room=lambda: None)
        self.baseline = Baseline(reference, "cpu", tf32=False)
        self.calls = TimedBaseline(self.baseline, reference, "cpu")
        self.draws = [Draw(problem.inputs(seed), "given") for seed in (1, 2)]
        self.buffer = SharedBuffer.create("host", BUFFER_BYTES)

    def run(self) -> None:
        self.calls.prepare(self.draws)
        self.baseline.run(flush=False)

    def compare(self, outputs: Sequence[Any], draws: Sequence[Draw]) -> list[dict[str, Any]]:
        writer = BufferWriter(self.buffer)
        claims = [encode(one, writer) for one in outputs]
        return self.calls.compare(claims, self.buffer, draws, relative=1e-4, absolute=1e-4)


@pytest.fixture
def bench(tmp_path: Path) -> DoublingBaseline:
    return DoublingBaseline(tmp_path)


def given(bench: DoublingBaseline, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the baseline is prepared with."""
    found: list[Any] = []
    monkeypatch.setattr(bench.baseline, "prepare", found.extend)
    bench.calls.prepare(bench.draws)
    return found


def test_inputs_are_copies_at_other_addresses(
    bench: DoublingBaseline, monkeypatch: pytest.MonkeyPatch
) -> None:
    for inputs, draw in zip(given(bench, monkeypatch), bench.draws, strict=True):
        assert torch.equal(inputs[0], draw.inputs[0])
        assert inputs[0].data_ptr() != draw.inputs[0].data_ptr()


def test_large_inputs_are_not_copied(
    bench: DoublingBaseline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(baseline, "_PADDED_LIMIT", 1024)
    found = given(bench, monkeypatch)
    assert [inputs is draw.inputs for inputs, draw in zip(found, bench.draws, strict=True)] == [
        True,
        True,
    ]


def test_each_call_is_compared_with_the_baselines_own(bench: DoublingBaseline) -> None:
    bench.run()
    first, second = (draw.inputs[0] * 2 for draw in bench.draws)
    second[3, 3] += 1
    calls = bench.compare([first, second], bench.draws)
    assert [call["outputs"][0]["mismatches"] for call in calls] == [0, 1]
    swapped = bench.compare([second, first], bench.draws)
    assert all(call["outputs"][0]["mismatches"] > 100 for call in swapped)


def test_a_run_of_other_calls_is_no_measure(bench: DoublingBaseline) -> None:
    bench.run()
    with pytest.raises(RequestRefused, match="ran 2 of these 1 calls"):
        bench.compare([bench.draws[0].inputs[0] * 2], bench.draws[:1])
    bench.calls.drop()
    with pytest.raises(RequestRefused, match="ran 0 of these 1 calls"):
        bench.compare([bench.draws[0].inputs[0] * 2], bench.draws[:1])
