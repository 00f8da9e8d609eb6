"""How long each submodule of a model takes inside of a call, by the device's clock.

This is the candidate's own process, so the result is a claim.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from profilers.kernelbench.shared.clocks import Clock
from profilers.kernelbench.shared.recorded_calls import tensors_in

MOST_WATCHED = 500
"""Submodules that are timed: those first in the model's order."""
_DEEPEST = 4
_WARM_UP = 2
_CALLS = 5
_LONGEST_TEXT = 120

Span = tuple[Any, Any]
"""Two marks of a clock."""


def module_times(model: Any, call: Callable[[], Any], clock: Clock) -> dict[str, Any]:
    """Microseconds of a `call` of `model`, and of each submodule that ran in it.

    ``{"us": ..., "modules": [{"path", "kind", "inputs", "output", "calls", "us"}, ...]}``, in the
    model's order; a submodule's time holds that of those in it. Without submodules
    nothing is called.
    """
    watched = [
        (path, module)
        for path, module in model.named_modules()
        if path and path.count(".") < _DEEPEST
    ][:MOST_WATCHED]
    if not watched:
        return {"us": 0.0, "modules": []}
    for _ in range(_WARM_UP):
        call()
    seen = [(_Watched(path, type(one).__name__, clock), one) for path, one in watched]
    handles = []
    try:
        for watch, module in seen:
            handles.append(module.register_forward_pre_hook(watch.before, with_kwargs=True))
            handles.append(module.register_forward_hook(watch.after, with_kwargs=True))
        begin = clock.mark()
        for _ in range(_CALLS):
            call()
        end = clock.mark()
        clock.synchronize()
    finally:
        for handle in handles:
            handle.remove()
    return {
        "us": clock.us(begin, end) / _CALLS,
        "modules": [watch.told() for watch, _ in seen if watch.spans],
    }


@dataclass(slots=True)
class _Watched:
    """A submodule, its spans so far, and the shapes of its first call."""

    path: str
    kind: str
    clock: Clock
    spans: list[Span] = field(default_factory=list)
    inputs: str = ""
    output: str = ""
    _open: list[Any] = field(default_factory=list)

    def before(self, _module: Any, _args: Any, _kwargs: Any) -> None:
        self._open.append(self.clock.mark())

    def after(self, _module: Any, args: Any, kwargs: Any, output: Any) -> None:
        end = self.clock.mark()
        if not self._open:
            return
        self.spans.append((self._open.pop(), end))
        if not self.output:
            self.inputs = _shapes([*args, *kwargs.values()])
            self.output = _shapes(output)

    def told(self) -> dict[str, Any]:
        us = sum(self.clock.us(begin, end) for begin, end in self.spans)
        return {
            "path": self.path[:_LONGEST_TEXT],
            "kind": self.kind[:_LONGEST_TEXT],
            "inputs": self.inputs,
            "output": self.output,
            "calls": max(1, round(len(self.spans) / _CALLS)),
            "us": us / _CALLS,
        }


def _shapes(value: Any) -> str:
    shapes = ("x".join(map(str, one.shape)) or "scalar" for one in tensors_in(value))
    return ", ".join(shapes)[:_LONGEST_TEXT]
