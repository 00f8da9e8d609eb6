"""What candidates try, seen from inside their process; and what is honest and only looks odd."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from profilers.children.protocol import RequestRefused  # noqa: E402
from profilers.kernelbench.shared import timed_runs  # noqa: E402
from profilers.kernelbench.shared.clocks import HostClock  # noqa: E402
from profilers.kernelbench.worker import guards  # noqa: E402
from tests.support.worker_judge import PLAIN, Judge, cheats, forward  # noqa: E402


@pytest.fixture
def judge(tmp_path: Path) -> Iterator[Judge]:
    with Judge(tmp_path) as made:
        yield made


LAZY = """
class Lazy(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs or {})
"""


@pytest.mark.parametrize(
    ("body", "extra"),
    [
        ("return (x * 2).as_subclass(Lazy)", LAZY),
        ("return [x, {'y': (x * 2).as_subclass(Lazy)}]", LAZY),
        ("return torch.empty(4, 8, device='meta')", ""),
        (
            "with FakeTensorMode():\n    return torch.empty(4, 8)",
            "from torch._subclasses import FakeTensorMode",
        ),
        (
            "return Thing()",
            "class Thing:\n    def data_ptr(self): return 1\n    def stride(self): return (1,)",
        ),
        (
            "y = torch.empty(4, 8); y.untyped_storage().resize_(0); return y",
            "",
        ),
    ],
)
def test_an_output_without_memory_of_its_own_is_lazy(judge: Judge, body: str, extra: str) -> None:
    judge.load(forward(body, extra), **PLAIN)
    _, reply = judge.call()
    assert cheats(reply) == {"lazy_output"}
    assert reply["outputs"] is None
    assert cheats(judge.timed(2)[2]) == {"lazy_output"}


def test_a_parameter_is_a_plain_tensor(judge: Judge) -> None:
    judge.load(forward("return torch.nn.Parameter(x * 2)"), **PLAIN)
    (x,), reply = judge.call()
    assert reply["problems"] == []
    assert torch.equal(judge.read(reply["outputs"]), x * 2)


def test_a_thread_that_fills_a_returned_output_is_seen(judge: Judge) -> None:
    source = forward(
        """
        y = torch.zeros_like(x)
        def work():
            time.sleep(0.02)
            y.copy_(x * 2)
        threading.Thread(target=work).start()
        return y
        """,
        "import threading, time",
    )
    judge.load(source, **PLAIN)
    (x,), reply = judge.call()
    assert cheats(reply) == {"background_work"}
    assert not judge.read(reply["outputs"]).any()
    assert torch.equal(judge.read(reply["late"]), x * 2)


def test_a_thread_that_was_started_at_import_is_seen_too(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guards, "_GRACE_S", 0.5)  # a busy machine wakes the thread late
    extra = """
        import queue, threading, time
        jobs = queue.Queue()
        def work():
            while True:
                x, y = jobs.get()
                time.sleep(0.02)
                y.copy_(x * 2)
        threading.Thread(target=work, daemon=True).start()
    """
    judge.load(forward("y = torch.zeros_like(x); jobs.put((x, y)); return y", extra), **PLAIN)
    for _ in range(2):
        _, reply = judge.call()
        assert cheats(reply) == {"background_work"}


def test_a_thread_that_only_waits_is_honest(judge: Judge) -> None:
    extra = """
        import threading
        threading.Thread(target=threading.Event().wait, daemon=True).start()
    """
    judge.load(forward("return x * 2", extra), **PLAIN)
    assert judge.call()[1]["problems"] == []
    assert judge.timed(3)[2]["problems"] == []


def test_a_call_that_does_the_work_of_earlier_ones_is_seen(judge: Judge) -> None:
    source = forward(
        """
        y = torch.zeros_like(x)
        waiting.append((x, y))
        if len(waiting) == 4:
            for a, b in waiting:
                b.copy_(a * 2)
        return y
        """,
        "waiting = []",
    )
    judge.load(source, **PLAIN)
    values, _, fetched = judge.timed(4)
    assert cheats(fetched) == {"batched_calls"}
    assert "3 of 4 calls" in fetched["problems"][0]["evidence"]
    # What is handed over is what each call had returned.
    read = [judge.read(coded) for coded in fetched["outputs"]]
    assert [bool(y.any()) for y in read] == [False, False, False, True]
    assert torch.equal(read[3], values[3][0] * 2)


def test_a_buffer_that_every_call_returns_is_honest(judge: Judge) -> None:
    """As a graph does that is replayed: each call overwrites what the one before returned."""
    judge.load(forward("return torch.mul(x, 2, out=buffer)", "buffer = torch.empty(4, 8)"), **PLAIN)
    values, _, fetched = judge.timed(4)
    assert fetched["problems"] == []
    for (x,), coded in zip(values, fetched["outputs"], strict=True):
        assert torch.equal(judge.read(coded), x * 2)


def test_an_output_that_is_an_input_or_part_of_a_workspace_is_honest(judge: Judge) -> None:
    body = "work[:, :8] = x * 2; return x, work[:, :8]"
    judge.load(forward(body, "work = torch.empty(4, 16)"), **PLAIN)
    values, _, fetched = judge.timed(3)
    assert fetched["problems"] == []
    for (x,), coded in zip(values, fetched["outputs"], strict=True):
        same, double = judge.read(coded)
        assert torch.equal(same, x)
        assert torch.equal(double, x * 2)


@pytest.mark.parametrize("body", ["return x.mul_(2)", "y = x * 2; x.zero_(); return y"])
def test_a_changed_input_is_seen(judge: Judge, body: str) -> None:
    judge.load(forward(body), **PLAIN)
    _, reply = judge.call()
    assert cheats(reply) == {"input_mutation"}
    assert "input_mutation" in cheats(judge.timed(2)[2])


PATCHES = [
    ("time", "perf_counter", "patched_timer"),
    ("time", "perf_counter_ns", "patched_timer"),
    ("torch.cuda.Event", "elapsed_time", "patched_timer"),
    ("torch.cuda", "synchronize", "patched_timer"),
    ("torch", "allclose", "patched_harness"),
    ("torch", "equal", "patched_harness"),
    ("torch.testing", "assert_close", "patched_harness"),
    ("torch.Tensor", "data_ptr", "patched_harness"),
    ("json", "dumps", "patched_harness"),
    ("profilers.children.protocol", "write_frame", "patched_harness"),
    ("profilers.kernelbench.shared.recorded_calls", "same_bytes", "patched_harness"),
    ("profilers.kernelbench.shared.timed_runs.TimedRuns", "changed", "patched_harness"),
]


def resolved(path: str) -> Any:
    owner: Any = sys.modules[path.split(".")[0]]
    for name in path.split(".")[1:]:
        owner = getattr(owner, name)
    return owner


@pytest.mark.parametrize(("owner", "name", "cheat"), PATCHES)
@pytest.mark.parametrize("when", ["imported", "called"])
def test_replaced_functions_of_timing_or_comparing_are_seen(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, owner: str, name: str, cheat: str, when: str
) -> None:
    place = resolved(owner)
    monkeypatch.setattr(place, name, guards.vars_of(place, name))  # puts it back afterwards
    patch = f"old = {owner}.{name}\n{owner}.{name} = lambda *a, **k: old(*a, **k)"
    roots = f"import json, time, torch.testing, {'.'.join(owner.split('.')[:3])}"
    if "TimedRuns" in owner or owner.startswith("torch."):
        roots = "import json, time, torch.testing, profilers.kernelbench.shared.timed_runs"
    lines = patch.splitlines()
    source = (
        forward("return x * 2", f"{roots}\n{patch}")
        if when == "imported"
        else forward("\n".join(["global old", *lines, "return x * 2"]), roots)
    )
    loaded = judge.load(source, **PLAIN)
    assert cheats(loaded) == ({cheat} if when == "imported" else set())
    _, reply = judge.call()
    assert cheats(reply) == {cheat}
    assert f"{owner}.{name}" in reply["problems"][0]["evidence"]


def test_a_swapped_module_of_the_harness_is_seen(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = timed_runs.__name__
    monkeypatch.setitem(sys.modules, name, timed_runs)
    extra = f"import sys, types\nsys.modules['{name}'] = types.ModuleType('{name}')"
    assert cheats(judge.load(forward("return x", extra), **PLAIN)) == {"patched_harness"}


def test_a_mode_that_is_left_active_is_seen(judge: Judge) -> None:
    extra = """
        from torch.utils._python_dispatch import TorchDispatchMode
        class Mode(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                return func(*args, **(kwargs or {}))
        mode = Mode()
        mode.__enter__()
    """
    try:
        reply = judge.load(forward("return x", extra), **PLAIN)
        assert cheats(reply) == {"patched_harness"}
        assert "Mode" in reply["problems"][0]["evidence"]
    finally:
        judge.worker.session.candidate.model.forward.__globals__["mode"].__exit__(None, None, None)


def test_a_default_device_is_no_mode_of_that_kind(judge: Judge) -> None:
    try:
        judge.load(forward("return x * 2", "torch.set_default_device('cpu')"), **PLAIN)
        assert judge.call()[1]["problems"] == []
    finally:
        torch.set_default_device(None)


def test_a_model_that_inherits_from_another_modules_reference_is_refused(judge: Judge) -> None:
    source = """
        import sys, types, torch
        reference = types.ModuleType("reference")
        exec("import torch\\nclass Model(torch.nn.Module): pass", reference.__dict__)
        class ModelNew(reference.Model):
            pass
    """
    with pytest.raises(RequestRefused, match="inherits from Model of reference") as caught:
        judge.load(source, **PLAIN)
    assert caught.value.kind == "cheat:wraps_reference"


def test_a_model_may_inherit_from_the_files_own_model(judge: Judge) -> None:
    source = """
        import torch
        class Model(torch.nn.Module):
            def forward(self, x):
                return x * 2
        class ModelNew(Model):
            pass
    """
    assert judge.load(source, **PLAIN)["problems"] == []
    assert judge.call()[1]["problems"] == []


def test_threads_that_stay_count_as_usual_after_a_moment() -> None:
    import threading

    threads = guards.Threads()
    stop = threading.Event()
    waiting = threading.Thread(target=stop.wait)
    waiting.start()
    assert threads.more
    begin = time.monotonic()
    threads.settle()
    assert not threads.more
    assert threads.foreign
    assert time.monotonic() - begin < 30
    stop.set()
    waiting.join()


def test_a_clock_that_is_made_to_lie_is_seen() -> None:
    clock = HostClock()
    bindings = guards.Bindings(clock)
    assert bindings.problems() == []
    clock.us = lambda begin, end: 0.5  # type: ignore[method-assign]
    assert [found["cheat"] for found in bindings.problems()] == ["patched_timer"]
