"""A worker on the CPU: what a judge asks of it, and what candidates try."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from profilers.children.protocol import RequestRefused  # noqa: E402
from profilers.kernelbench.shared.shared_memory import BufferWriter  # noqa: E402
from profilers.kernelbench.shared.values import encode  # noqa: E402
from profilers.kernelbench.worker.importing import build  # noqa: E402
from profilers.kernelbench.worker.process import WorkerHandlers  # noqa: E402
from tests.support.worker_judge import LATE, PLAIN, WEIGHTS_AT, Judge, forward  # noqa: E402

HONEST = """
import torch

class ModelNew(torch.nn.Module):
    def __init__(self, n, scale):
        super().__init__()
        self.linear = torch.nn.Linear(n, n)
        self.scale = scale

    def forward(self, x):
        return self.linear(x) * self.scale
"""


@pytest.fixture
def judge(tmp_path: Path) -> Iterator[Judge]:
    with Judge(tmp_path) as made:
        yield made


def test_an_honest_candidate_answers_with_the_right_bytes(judge: Judge) -> None:
    loaded = judge.load(HONEST)
    assert loaded["problems"] == []
    assert loaded["parameters"] == 72
    assert loaded["extra"] == []
    (x,), reply = judge.call()
    expected = judge.model(x) * 2.0
    for kind in ("outputs", "late"):
        assert torch.equal(judge.read(reply[kind]), expected)
    assert reply["problems"] == []
    assert reply["us"] > 0
    assert reply["refused"] is None


def test_a_worker_that_takes_turns_gives_its_memory_back_with_each_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_back: list[int] = []
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: given_back.append(1))
    made: list[weakref.ref[Any]] = []
    with Judge(tmp_path, in_turns=True) as judge:
        judge.load(HONEST)
        session = judge.worker.session
        usual = session._make_inputs

        def watched(coded: Any) -> Any:
            inputs = usual(coded)
            made.extend(weakref.ref(tensor) for tensor in inputs.arguments)
            return inputs

        session._make_inputs = watched
        (x,), reply = judge.call()
        assert torch.equal(judge.read(reply["outputs"]), judge.model(x) * 2.0)
        values, _times, fetched = judge.timed(3)
        for (own,), found in zip(values, fetched["outputs"], strict=True):
            assert torch.equal(judge.read(found), judge.model(own) * 2.0)
        assert len(given_back) == 2
        assert len(made) == 4 and all(ref() is None for ref in made)


def test_a_worker_that_takes_turns_gives_back_after_a_refusal_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_back: list[int] = []
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: given_back.append(1))
    with Judge(tmp_path, in_turns=True) as judge:
        judge.load(forward("raise ValueError('not this batch')"), **PLAIN)
        _, reply = judge.call(may_refuse=True)
        assert "not this batch" in reply["refused"]
        assert len(given_back) == 1


def test_no_room_for_inputs_is_a_lack_of_memory(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge.load(HONEST)

    def full(*_: object) -> None:
        raise torch.OutOfMemoryError("tried to allocate 6 GiB")

    monkeypatch.setattr(judge.worker.session._inputs, "fresh", full)
    with pytest.raises(RequestRefused, match="the device has no room") as raised:
        judge.call()
    assert raised.value.kind == "memory"


def test_new_weights_are_copied_in_place(judge: Judge) -> None:
    judge.load(HONEST)
    other = torch.nn.Linear(8, 8)
    judge.ask("weights", weights=judge.weights(other))
    (x,), reply = judge.call()
    assert torch.equal(judge.read(reply["outputs"]), other(x) * 2.0)


def test_timed_calls_are_handed_over_one_by_one(judge: Judge) -> None:
    judge.load(HONEST)
    values, times, fetched = judge.timed(5)
    assert len(times) == 5
    assert all(us > 0 for us in times)
    assert fetched["problems"] == []
    for (x,), coded in zip(values, fetched["outputs"], strict=True):
        assert torch.equal(judge.read(coded), judge.model(x) * 2.0)


def test_repeats_time_every_call_again(judge: Judge) -> None:
    judge.load(HONEST)
    _, coded = judge.draw(3)
    judge.ask("prepare", calls=coded)
    assert len(judge.ask("run", flush=False, repeats=2)["events_us"]) == 6
    assert len(judge.ask("fetch", at=0)["outputs"]) == 3


def test_idle_calls_hand_over_as_much_and_call_nothing(judge: Judge) -> None:
    judge.load(forward("seen.append(1); return x + len(seen)", "seen = []"), **PLAIN)
    _, times, _ = judge.timed(5)
    for waits in (False, True):
        idle = judge.ask("idle", waits=waits)["events_us"]
        assert len(idle) == len(times) == 5
    (x,), reply = judge.call()
    assert torch.equal(judge.read(reply["outputs"]), x + 6)


def test_burning_goes_round_the_prepared_inputs(judge: Judge) -> None:
    judge.load(forward("seen.append(x.data_ptr()); return x", "seen = []"), **PLAIN)
    _, coded = judge.draw(3)
    judge.ask("prepare", calls=coded)
    assert judge.ask("burn", calls=7) == {"calls": 7}
    (x,), _ = judge.call()
    assert x.shape == (4, 8)


def test_any_nesting_of_outputs_comes_through(judge: Judge) -> None:
    judge.load(
        forward("return {'a': [x.t(), (x.sum(), 3, None)], 'b': x.expand(2, 4, 8)}"), **PLAIN
    )
    (x,), reply = judge.call()
    assert reply["problems"] == []
    value = judge.read(reply["outputs"])
    assert torch.equal(value["a"][0], x.t())
    assert value["a"][1] == (x.sum(), 3, None)
    assert torch.equal(value["b"], x.expand(2, 4, 8))


def test_inputs_are_new_for_every_call_and_keep_their_strides(judge: Judge) -> None:
    source = forward("seen.append((x.data_ptr(), x.stride())); return torch.tensor(1)", "seen = []")
    judge.load(source, **PLAIN)
    coded = encode([torch.randn(8, 4).t()], BufferWriter(judge.inputs))
    for _ in range(4):
        judge.ask("call", inputs=coded, at=0, late_at=LATE)
    model = judge.worker.session.candidate.model
    seen = model.forward.__globals__["seen"]
    assert {strides for _, strides in seen} == {(1, 4)}
    assert all(first != second for (first, _), (second, _) in pairwise(seen))


@pytest.mark.parametrize(
    ("source", "kind", "said"),
    [
        ("def f(:\n  pass", "compile", "SyntaxError"),
        ("import no_such_module_here", "compile", "ModuleNotFoundError"),
        ("raise RuntimeError(\"Error building extension 'x': nvcc\")", "compile", "nvcc"),
        ("raise SystemExit(0)", "compile", "SystemExit"),
        ("x = 1", "contract", "no class ModelNew"),
        ("class ModelNew: pass", "contract", "no class ModelNew"),
        ("class ModelNew(Model): pass", "contract", "lives in another process"),
        (HONEST.replace("self.linear", "self.other"), "contract", "'linear.weight'"),
        (HONEST.replace("Linear(n, n)", "Linear(n, n + 1)"), "contract", "(9, 8)"),
        (HONEST.replace("Linear(n, n)", "Linear(n, n).half()"), "contract", "float16"),
        (HONEST.replace("self.scale = scale", "1 / 0"), "runtime", "line 8, in __init__: 1 / 0"),
        (HONEST.replace("self.scale = scale", "raise MemoryError"), "memory", "MemoryError"),
    ],
)
def test_a_source_that_cannot_be_loaded_is_refused_with_its_kind(
    judge: Judge, source: str, kind: str, said: str
) -> None:
    with pytest.raises(RequestRefused) as caught:
        judge.load(source)
    assert caught.value.kind == kind
    assert said in str(caught.value)
    assert not caught.value.sticky
    assert str(judge.folder) not in str(caught.value)


def test_a_weight_of_the_candidates_own_is_only_reported(judge: Judge) -> None:
    extra = HONEST.replace("self.scale = scale", "self.scale = scale; self.more = self.linear.bias")
    assert judge.load(extra)["extra"] == ["more"]


def test_a_counter_that_no_forward_reads_may_be_missing(judge: Judge) -> None:
    weights = judge.weights(judge.model)
    counter = BufferWriter(judge.inputs, WEIGHTS_AT + 4096)(torch.tensor(0))
    weights["norm.num_batches_tracked"] = counter.to_json()
    assert judge.load(HONEST, weights=weights)["problems"] == []


def test_a_forward_that_raises_shows_its_own_lines(judge: Judge) -> None:
    judge.load(forward("y = x[0]\nreturn y @ torch.zeros(3)"), **PLAIN)
    with pytest.raises(RequestRefused) as caught:
        judge.call()
    assert caught.value.kind == "runtime"
    assert "RuntimeError: " in str(caught.value)
    assert "in forward: return y @ torch.zeros(3)" in str(caught.value)
    _, reply = judge.call(may_refuse=True)
    assert "RuntimeError" in reply["refused"]
    assert reply["outputs"] is None


def test_running_out_of_memory_is_told_apart(judge: Judge) -> None:
    judge.load(forward("raise torch.OutOfMemoryError('CUDA out of memory')"), **PLAIN)
    with pytest.raises(RequestRefused) as caught:
        judge.timed(1)
    assert caught.value.kind == "memory"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return {1, 2}", "builtins.set"),
        ("return x.to_sparse()", "sparse"),
        ("return torch.zeros(1 << 20)", "ends at byte"),
        ("a = []; a.append(a); return a", "recursion"),
    ],
)
def test_an_output_that_cannot_be_compared_is_an_error(judge: Judge, body: str, said: str) -> None:
    judge.load(forward(body), **PLAIN)
    with pytest.raises(RequestRefused) as caught:
        judge.call()
    assert caught.value.kind == "runtime"
    assert said in str(caught.value)


def test_a_candidate_in_one_worker_is_the_only_one(judge: Judge) -> None:
    judge.load(HONEST)
    with pytest.raises(RequestRefused, match="one worker holds one"):
        judge.load(HONEST)


def test_nothing_is_done_before_the_start() -> None:
    with pytest.raises(RequestRefused, match="not started"):
        WorkerHandlers(lambda count: []).handlers()["prepare"]({"calls": []})


def test_building_imports_the_file_and_keeps_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAX_JOBS", "1")
    path = tmp_path / "candidate.py"
    path.write_text(
        "import os\nos.system('echo compiling')\nassert os.environ['MAX_JOBS'] == '3'\n"
    )
    monkeypatch.delitem(__import__("sys").modules, "candidate_built", raising=False)
    reply = build({"path": str(path), "environment": {"MAX_JOBS": "3"}})
    assert "compiling" in reply["log"]
    assert "skipped" not in reply


@pytest.mark.parametrize(
    ("line", "skipped"),
    [
        ("torch.zeros(1, device='cuda')", True),
        ("raise RuntimeError('0 active drivers ([]). There should only be one.')", True),
        ("raise RuntimeError('error: expected a semicolon')", False),
    ],
)
def test_a_build_that_only_lacks_a_gpu_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, skipped: bool
) -> None:
    path = tmp_path / "candidate.py"
    path.write_text(
        f"import torch\nimport os; os.system('echo log line')\n{line}\n", encoding="utf-8"
    )
    monkeypatch.delitem(__import__("sys").modules, "candidate_built", raising=False)
    if skipped:
        assert "needs a GPU" in build({"path": str(path)})["skipped"]
        return
    with pytest.raises(RequestRefused, match="semicolon") as caught:
        build({"path": str(path)})
    assert caught.value.kind == "compile"
    assert "log line" in str(caught.value)


def test_an_unknown_environment_variable_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestRefused, match="LD_PRELOAD"):
        build({"path": str(tmp_path / "x.py"), "environment": {"LD_PRELOAD": "x.so"}})
