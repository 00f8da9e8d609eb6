"""A compiled launcher as a `ModelNew`: our code, in the candidate's process.

Holds the reference's weights under its names, checks the inputs against the plan, allocates outputs
and workspaces, and calls the launcher with their addresses on PyTorch's current stream. What
depends on shapes alone is computed once for each set of shapes.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcts.domain import HOST_ITEM_BYTES, HostPlan, Scalar, evaluate, evaluate_int
from mcts.errors import InputError
from profilers.host.entry import CALL, MEASURE, pointer_names
from profilers.host.plan_binding import (
    HostCallError,
    bind_extents,
    float_arguments,
    init_values,
    integer_arguments,
    output_extents,
)

_MESSAGE_BYTES = 4096
_MOST_SHAPES = 64
_MOST_WORKSPACE_BYTES = 2**40
WeightShapes = Mapping[str, tuple[Sequence[int], str]]


def host_model(
    *, library: str, plan: str, tunables: Mapping[str, Scalar], weights: WeightShapes
) -> type:
    """A class `ModelNew` around the launcher of the shared object at `library`.

    `plan` is the plan's JSON, `weights` the shape and dtype of all the reference's weights by name.
    """
    import torch

    parsed = HostPlan.model_validate_json(plan)
    launcher = _Launcher(library, parsed)

    class ModelNew(torch.nn.Module):  # type: ignore[misc]
        """Calls the launcher."""

        def __init__(self, *init: Any) -> None:
            super().__init__()
            _register_weights(self, weights)
            named = dict(self.named_buffers(remove_duplicate=False))
            self._call = _LauncherCall(
                launcher, parsed, tunables, init, _select_weights(parsed, named)
            )

        def forward(self, *inputs: Any) -> Any:
            return self._call(inputs)

        def _apply(self, fn: Any, recurse: bool = True) -> Any:
            """Moving the module may replace its weights, so look them up again."""
            moved = super()._apply(fn, recurse)
            named = dict(self.named_buffers(remove_duplicate=False))
            self._call.weights = _select_weights(parsed, named)
            return moved

    return ModelNew


def _register_weights(module: Any, weights: WeightShapes) -> None:
    """Register the weights as buffers under their dotted names, in submodules as needed."""
    import torch

    for name, (shape, dtype) in weights.items():
        owner = module
        *path, last = name.split(".")
        for part in path:
            if part not in owner._modules:
                owner.add_module(part, torch.nn.Module())
            owner = owner._modules[part]
        owner.register_buffer(last, torch.empty(tuple(shape), dtype=getattr(torch, dtype)))


def _select_weights(plan: HostPlan, named: Mapping[str, Any]) -> list[Any]:
    """The weights that the plan names, in its order."""
    missing = [item.parameter for item in plan.weight if item.parameter not in named]
    if missing:
        known = ", ".join(sorted(named)) or "none"
        raise HostCallError(f"the model has no weight {missing[0]!r}; it has: {known}")
    return [named[item.parameter] for item in plan.weight]


@dataclass(frozen=True, slots=True)
class _CallPlan:
    """What calls with one set of shapes need."""

    whole: Any
    real: Any
    outputs: tuple[tuple[tuple[int, ...], Any], ...]
    scratch: tuple[int, ...]


class _Launcher:
    """The two entry points of a shared object."""

    def __init__(self, library: str, plan: HostPlan) -> None:
        with contextlib.suppress(OSError):  # makes the driver's functions available to the library
            ctypes.CDLL("libcuda.so.1", mode=ctypes.RTLD_GLOBAL)
        loaded = ctypes.CDLL(library)
        self._call = getattr(loaded, CALL)
        self._measure = getattr(loaded, MEASURE)
        self._pointers = ctypes.c_void_p * len(pointer_names(plan))
        self._message = ctypes.create_string_buffer(_MESSAGE_BYTES)
        self._name = plan.launcher

    def __call__(
        self, addresses: Sequence[int], call_plan: _CallPlan, stream: int, *, on_device: bool
    ) -> None:
        """Raises HostCallError with the launcher's message."""
        pointers = self._pointers(*addresses)
        failed = self._call(
            pointers, call_plan.whole, call_plan.real, ctypes.c_void_p(stream),
            int(on_device), self._message, ctypes.c_size_t(_MESSAGE_BYTES),
        )  # fmt: skip
        if failed:
            raise HostCallError(f"{self._name}: {self._said()}")

    def workspace_bytes(self, which: int, whole: Any) -> int:
        found = ctypes.c_ulonglong()
        if self._measure(which, whole, ctypes.byref(found), self._message, ctypes.c_size_t(4096)):
            raise HostCallError(f"{self._name}: bytes of workspace: {self._said()}")
        return int(found.value)

    def _said(self) -> str:
        return self._message.value.decode(errors="replace")[:1000]


class _LauncherCall:
    """Calls the launcher with tensors and returns the outputs."""

    def __init__(
        self,
        launcher: _Launcher,
        plan: HostPlan,
        tunables: Mapping[str, Scalar],
        init: Sequence[Any],
        weights: list[Any],
    ) -> None:
        self.weights = weights
        self._launcher, self._plan = launcher, plan
        self._constants = {**tunables, **init_values(plan, init)}
        self._known: dict[Any, _CallPlan] = {}

    def __call__(self, inputs: Sequence[Any]) -> Any:
        import torch

        tensors, numbers = self._split_inputs(inputs)
        given = [*tensors, *self.weights]
        if not given:
            raise HostCallError("the plan declares no input and no weight")
        key = (*((tensor.shape, tensor.dtype) for tensor in given), *numbers.values())
        call_plan = self._known.get(key)
        if call_plan is None:
            if len(self._known) >= _MOST_SHAPES:
                self._known.clear()
            call_plan = self._known[key] = self._plan_for(given, numbers)
        device = given[0].device
        outputs = [
            torch.empty(shape, dtype=dtype, device=device) for shape, dtype in call_plan.outputs
        ]
        scratch = [
            torch.empty(size, dtype=torch.uint8, device=device) for size in call_plan.scratch
        ]
        held = [tensor.contiguous() for tensor in given]
        on_device = device.type == "cuda"
        stream = torch.cuda.current_stream(device).cuda_stream if on_device else 0
        addresses = [tensor.data_ptr() for tensor in (*held, *outputs, *scratch)]
        self._launcher(addresses, call_plan, stream, on_device=on_device)
        if self._plan.returns == "list":
            return outputs
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _split_inputs(self, inputs: Sequence[Any]) -> tuple[list[Any], dict[str, Scalar]]:
        """Tensors in the plan's order, and plain numbers by name."""
        declared = self._plan.input
        if len(inputs) != len(declared):
            raise HostCallError(
                f"forward gets {len(inputs)} arguments, the plan declares {len(declared)} inputs"
            )
        tensors: list[Any] = []
        numbers: dict[str, Scalar] = {}
        for item, value in zip(declared, inputs, strict=True):
            if item.shape is not None:
                if not hasattr(value, "data_ptr"):
                    kind = type(value).__name__
                    raise HostCallError(f"input {item.name!r} is a {kind}, not a tensor")
                tensors.append(value)
            elif isinstance(value, int | float):
                numbers[item.name] = value
            else:
                kind = type(value).__name__
                raise HostCallError(f"input {item.name!r} is a {kind}: give it a shape")
        return tensors, numbers

    def _plan_for(self, given: Sequence[Any], numbers: Mapping[str, Scalar]) -> _CallPlan:
        try:
            return self._plan_call(given, {**self._constants, **numbers})
        except InputError as error:
            raise HostCallError(f"host plan: {error}") from None

    def _plan_call(self, given: Sequence[Any], names: dict[str, Scalar]) -> _CallPlan:
        import torch

        plan = self._plan
        dtypes = [item.dtype for item in plan.input if item.shape is not None]
        dtypes += [item.dtype for item in plan.weight]
        for (name, shape), dtype, tensor in zip(plan.given, dtypes, given, strict=True):
            bind_extents(name, shape, dtype, tensor, names)
        for condition in plan.where:
            if not evaluate(condition, names):
                raise InputError(f"`where` {condition!r} does not hold for these shapes")
        outputs = tuple(
            (output_extents(item.name, item.shape, names), getattr(torch, item.dtype))
            for item in plan.output
        )
        scratch = tuple(self._scratch(index, names) for index in range(len(plan.workspace)))
        for item, size in zip(plan.workspace, scratch, strict=True):
            names[f"{item.name}_bytes"] = size
        return _CallPlan(
            integer_arguments(plan, names), float_arguments(plan, names), outputs, scratch
        )

    def _scratch(self, index: int, names: Mapping[str, Scalar]) -> int:
        item = self._plan.workspace[index]
        if item.size is not None:
            size = evaluate_int(item.size, names) * HOST_ITEM_BYTES[item.dtype]
        else:
            # Sizes of workspaces are not known yet; functions that compute one do not use them.
            blank = {f"{one.name}_bytes": 0 for one in self._plan.workspace}
            whole = integer_arguments(self._plan, {**names, **blank})
            size = self._launcher.workspace_bytes(index, whole)
        if not 0 <= size <= _MOST_WORKSPACE_BYTES:
            raise InputError(f"workspace {item.name!r} of {size} bytes")
        return size
