"""Evidence, collected inside a candidate's process, that it cheats.

Foreign code runs in the same process and could fool these checks, so the judge never takes their
silence as proof. They name the cheats of candidates that do not go that far.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from mcts.domain import CheatClass
from profilers.children.protocol import RequestRefused
from profilers.kernelbench.shared.clocks import Clock
from profilers.kernelbench.shared.recorded_calls import RecordedCall, reach_bytes

Evidence = dict[str, str]
_TIMERS = (
    "perf_counter", "perf_counter_ns", "time", "time_ns", "monotonic", "monotonic_ns", "sleep",
)  # fmt: skip
_TENSOR_METHODS = (
    "clone", "copy_", "data_ptr", "detach", "view", "as_strided", "untyped_storage", "stride",
)  # fmt: skip
_TORCH_FUNCTIONS = (
    "equal", "allclose", "isclose", "sum", "empty_strided", "as_tensor", "frombuffer", "no_grad",
)  # fmt: skip
_OUR_MODULES = (
    "profilers.children.protocol",
    "profilers.children.serving",
    "profilers.kernelbench.shared.recorded_calls",
    "profilers.kernelbench.shared.timed_runs",
    "profilers.kernelbench.shared.clocks",
    "profilers.kernelbench.shared.values",
    "profilers.kernelbench.worker.guards",
    "profilers.kernelbench.shared.shared_memory",
    "profilers.kernelbench.worker.candidate",
    "profilers.kernelbench.worker.process",
    "profilers.kernelbench.worker.session",
)  # fmt: skip
_SETTLE_S = 0.3
_GRACE_S = 0.02


def problem(cheat: CheatClass, evidence: str) -> Evidence:
    return {"cheat": cheat, "evidence": evidence}


class Bindings:
    """What timing and comparing use, as it was before the candidate's code was loaded.

    `objects` are watched as well: their attributes, and the items of dictionaries among these.
    """

    def __init__(self, *objects: object) -> None:
        watched = [*_watched(), *(each for one in objects for each in _attributes(one))]
        self._bound = [
            (cheat, where, owner, name, vars_of(owner, name))
            for cheat, where, owner, name in watched
        ]

    def problems(self) -> list[Evidence]:
        """One piece of evidence per class of cheat for all that was replaced since."""
        replaced: dict[CheatClass, list[str]] = {}
        for cheat, where, owner, name, bound in self._bound:
            if vars_of(owner, name) is not bound:
                replaced.setdefault(cheat, []).append(f"{where}.{name}")
        return [
            problem(cheat, f"replaced while the candidate ran: {', '.join(names[:5])}")
            for cheat, names in replaced.items()
        ]


def vars_of(owner: Any, name: str) -> Any:
    """The attribute itself, not what a descriptor returns for it; None if there is none."""
    if isinstance(owner, dict):
        return owner.get(name)
    for place in getattr(owner, "__mro__", (owner,)):
        if name in vars(place):
            return vars(place)[name]
    return None


def _watched() -> Iterator[tuple[CheatClass, str, Any, str]]:
    import torch

    yield from (("patched_timer", "time", time, name) for name in _TIMERS)
    event = torch.cuda.Event
    for name in ("record", "elapsed_time", "synchronize", "query"):
        yield "patched_timer", "torch.cuda.Event", event, name
    for name in ("Event", "synchronize", "current_stream", "default_stream", "set_stream"):
        yield "patched_timer", "torch.cuda", torch.cuda, name
    yield from (("patched_harness", "torch.Tensor", torch.Tensor, n) for n in _TENSOR_METHODS)
    yield from (("patched_harness", "torch", torch, name) for name in _TORCH_FUNCTIONS)
    yield "patched_harness", "torch.testing", torch.testing, "assert_close"
    yield from (("patched_harness", "json", json, name) for name in ("dumps", "loads"))
    yield from (("patched_harness", "os", os, name) for name in ("read", "write"))
    for path in _OUR_MODULES:
        module = sys.modules.get(path)
        if module is not None:
            yield "patched_harness", "sys.modules", sys.modules, path
            yield from _own_functions(module)


def _attributes(instance: object) -> Iterator[tuple[CheatClass, str, Any, str]]:
    """Attributes that could change an object's behaviour: methods set on it, functions it holds."""
    kind = type(instance)
    held = vars(instance)
    for name in vars(kind):
        if isinstance(vars(kind)[name], FunctionType):
            yield "patched_timer", kind.__name__, held, name
    for name, value in held.items():
        if isinstance(value, dict):
            yield from (("patched_timer", f"{kind.__name__}.{name}", value, one) for one in value)
        elif callable(value):
            yield "patched_timer", kind.__name__, held, name


def _own_functions(module: ModuleType) -> Iterator[tuple[CheatClass, str, Any, str]]:
    for name, value in list(vars(module).items()):
        if isinstance(value, FunctionType):
            yield "patched_harness", module.__name__, module, name
        elif isinstance(value, type) and value.__module__ == module.__name__:
            yield "patched_harness", module.__name__, module, name
            for method, body in list(vars(value).items()):
                if isinstance(body, (FunctionType, classmethod, property)):
                    yield "patched_harness", f"{module.__name__}.{name}", value, method


def mode_problems() -> list[Evidence]:
    """Torch modes left active between the harness and torch, except a default device."""
    import torch
    from torch.utils._device import DeviceContext
    from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

    count = torch._C._len_torch_function_stack()
    modes = [torch._C._get_function_stack_at(index) for index in range(count)]
    modes = [mode for mode in modes if type(mode) is not DeviceContext]
    modes += _get_current_dispatch_mode_stack()
    names = [type(mode).__qualname__ for mode in modes]
    return [problem("patched_harness", f"left active: {', '.join(names[:5])}")] if names else []


def output_problems(record: RecordedCall, device: Any, clock: Clock) -> list[Evidence]:
    """Evidence of outputs that are not plain tensors with memory of their own.

    Raises RequestRefused "runtime" for plain tensors of another layout or on another device than
    asked: a mistake, not a trick.
    """
    import torch

    problems = []
    for index, (tensor, place) in enumerate(zip(record.tensors, record.places, strict=True)):
        what = f"output {index}"
        # By identity: a metaclass can say of its class that it equals any other.
        if type(tensor) is not torch.Tensor and type(tensor) is not torch.nn.Parameter:
            kind = type(tensor)
            text = f"is a {kind.__module__}.{kind.__qualname__}, not a plain tensor"
            problems.append(problem("lazy_output", f"{what} {text}"))
        elif tensor.device.type == "meta" or _wrapped(tensor):
            problems.append(problem("lazy_output", f"{what} has no elements behind it"))
        elif tensor.layout is not torch.strided:
            raise RequestRefused("runtime", f"{what} is laid out as {tensor.layout}, not strided")
        elif tensor.device != device:
            raise RequestRefused(
                "runtime", f"{what} is on {tensor.device}; the task runs on {device}"
            )
        elif place is None or not clock.backed(place.element, reach_bytes(tensor)):
            problems.append(problem("lazy_output", f"{what} reaches past the memory behind it"))
    return problems


def _wrapped(tensor: Any) -> bool:
    import torch

    functorch = torch._C._functorch
    return bool(
        torch._is_functional_tensor(tensor) or functorch.is_functorch_wrapped_tensor(tensor)
    )


class Threads:
    """The number of threads, compared with the usual number."""

    def __init__(self) -> None:
        self._sleep: Callable[[float], None] = time.sleep
        self._now: Callable[[], float] = time.monotonic
        self._own = python_threads()
        self._usual = self.counts()

    def counts(self) -> dict[str, int]:
        return {"python": python_threads(), "tasks": tasks()}

    def take_as_usual(self) -> None:
        """Accept the threads that run now as usual (a compiler's, for instance)."""
        self._usual = self.counts()

    @property
    def more(self) -> bool:
        """Whether there are more than usual."""
        now = self.counts()
        return any(now[kind] > self._usual[kind] for kind in now)

    @property
    def foreign(self) -> bool:
        """Whether the candidate has a Python thread running, or more threads than usual."""
        return python_threads() > self._own or self.more

    def settle(self) -> None:
        """Give threads a moment to finish; those that stay count as usual from then on."""
        if not self.foreign:
            return
        limit = self._now() + _SETTLE_S
        while self.more and self._now() < limit:
            self._sleep(0.005)
        self._sleep(_GRACE_S)
        self.take_as_usual()


def python_threads() -> int:
    """Threads that run Python, even if `threading` does not know them."""
    return max(len(sys._current_frames()), threading.active_count())


def tasks() -> int:
    """Threads of this process; 0 if there is no /proc."""
    try:
        return sum(1 for _ in Path("/proc/self/task").iterdir())
    except OSError:
        return 0


def late_problem(changed: Sequence[int], *, threads: bool, calls: int) -> list[Evidence]:
    """Evidence of outputs (or calls, of several) that changed after they were returned."""
    if not changed:
        return []
    if threads:
        cheat: CheatClass = "background_work"
        why = "a thread of the candidate was running"
    elif calls == 1:
        cheat = "side_stream"
        why = "work went on behind the caller's stream"
    else:
        cheat = "batched_calls"
        why = "no later call returned the same memory"
    what = "output" if calls == 1 else f"output of {len(changed)} of {calls} calls, first in call"
    return [problem(cheat, f"{what} {changed[0]} changed after it was returned: {why}")]
