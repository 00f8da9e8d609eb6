"""What a worker tells of its calls on the device, and what becomes of it."""

from __future__ import annotations

from typing import Any

import pytest

from profilers.kernelbench.judge.replies import read_trace
from profilers.kernelbench.judge.verdicts import Unfaithful
from profilers.kernelbench.worker.tracing import compact_trace


def event(cat: str, name: str, ts: float, dur: float, **args: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": 7, "ts": ts, "dur": dur,
            "args": args}  # fmt: skip


def call(at: float, number: int) -> list[dict[str, Any]]:
    """One call of two kernels, as PyTorch's profiler writes them; times in microseconds."""
    size = {"grid": [8, 2, 1], "block": [128, 1, 1], "stream": 7}
    return [
        event("cuda_runtime", "cudaLaunchKernel", at, 3.0, correlation=10 * number),
        event("kernel", "void first<float>(float*)", at + 5, 4.25, correlation=10 * number, **size),
        event("cuda_runtime", "cudaLaunchKernel", at + 4, 3.0, correlation=10 * number + 1),
        event("kernel", "second", at + 10, 20.0, correlation=10 * number + 1, **size),
    ]


TRACE = {
    "schemaVersion": 1,
    "traceEvents": [
        {"ph": "M", "name": "process_name", "args": {}},
        event("cpu_op", "aten::relu", 0.0, 1.0),
        *call(100.0, 1),
        *call(200.0, 2),
        event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 240.0, 2.0, bytes=4096, stream=7,
              correlation=31),
        event("cuda_runtime", "cudaMemcpyAsync", 235.0, 3.0, correlation=31),
        event("cuda_runtime", "cudaDeviceSynchronize", 250.0, 500.0, correlation=99),
    ],
}  # fmt: skip


def reply() -> dict[str, Any]:
    return {"trace": compact_trace(TRACE)}


def test_the_kernels_of_one_call_with_their_times() -> None:
    found = read_trace(reply(), calls=2)
    assert [(one.name, one.blocks, one.threads, one.launches) for one in found.launched] == [
        ("void first<float>(float*)", 16, 128, 1),
        ("second", 16, 128, 1),
    ]
    assert [one.us for one in found.launched] == pytest.approx([4.25, 20.0])


def test_the_timeline_is_that_of_what_was_enqueued() -> None:
    facts = read_trace(reply(), calls=2).timeline
    assert facts is not None
    assert (facts.kernels, facts.launches, facts.calls, facts.source) == (4, 4, 2, "cupti")
    assert facts.span_us == pytest.approx(242 - 105)
    assert (facts.copies_to_device, facts.pageable_copies, facts.copied_bytes) == (1, 1, 4096)
    assert facts.sync_calls == 0  # we wait for the calls, they do not


def test_more_events_than_are_told_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("profilers.kernelbench.worker.tracing._MOST_EVENTS", 3)
    assert read_trace(reply(), calls=2).left_out == "8 events were not told"


def told(*events: Any, names: Any = ("k",), left_out: Any = 0) -> dict[str, Any]:
    return {"trace": {"names": list(names), "events": list(events), "left_out": left_out}}


@pytest.mark.parametrize(
    "damage",
    [
        {"trace": None},
        {"trace": []},
        told(names=[1]),
        told(["kernel", 0, 0, 0, 0, 0, 0, 0, 0], names=[]),
        told(["kernel", 0, 9, 3, 0, 0, 0, 0, 0]),
        told(["other", 0, 0, 0, 0, 0, 0, 0, 0]),
        told(["kernel", 0, 0, 1.5, 0, 0, 0, 0, 0]),
        told(["kernel", 0, 0]),
        told(left_out=True),
    ],
)
def test_a_trace_of_another_form_is_unfaithful(damage: dict[str, Any]) -> None:
    with pytest.raises(Unfaithful):
        read_trace(damage, calls=2)
