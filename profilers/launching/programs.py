"""Loaded programs and prepared calls: a candidate's kernels with everything filled in.

Where the driver would return garbage or a vague error (a wrong number of arguments, too much shared
memory), the call is refused here in words that help to repair the kernel.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from profilers.children.protocol import RequestRefused
from profilers.compiling.calls import Argument, Call, Step, TensorMap
from profilers.hardware import driver
from profilers.hardware.tensor_maps import TENSOR_MAP_BYTES, EncodedTensorMap, encode_tensor_map

_SCALARS: dict[str, Any] = {
    "int32": ctypes.c_int32,
    "uint32": ctypes.c_uint32,
    "int64": ctypes.c_int64,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
}
_SIZES = {"buffer": 8, "tensor_map": TENSOR_MAP_BYTES}
_WORDS: dict[str, Callable[[Any], str]] = {
    "buffer": lambda name: f"buffer {name!r} (a pointer)",
    "tensor_map": lambda wanted: f"the tensor map of {wanted.buffer!r}",
}


@dataclass(frozen=True, slots=True)
class Region:
    """A stretch of device memory."""

    pointer: int
    size: int


class Program:
    """A loaded cubin with the functions that a call launches."""

    def __init__(self, cubin: bytes, kernels: tuple[str, ...]) -> None:
        self._module = driver.Module(cubin)
        self.functions: dict[str, driver.Function] = {}
        for name in kernels:
            function = self._module.function(name)
            if function is None:
                self._module.unload()
                raise RequestRefused("missing_kernel", f"the module has no kernel {name!r}")
            self.functions[name] = function

    @property
    def resources(self) -> dict[str, dict[str, int]]:
        """Registers per thread, static shared and local bytes, by kernel."""
        return {
            what: {name: getattr(function, what) for name, function in self.functions.items()}
            for what in ("registers", "shared_bytes", "local_bytes")
        }

    def unload(self) -> None:
        self._module.unload()


class ReloadableProgram:
    """The program of a role: a cubin that can be loaded again, and its call on every workload."""

    def __init__(self, cubin: bytes, kernels: tuple[str, ...], calls: Mapping[str, Call]) -> None:
        self._cubin, self._kernels = cubin, kernels
        self.calls = dict(calls)
        self.program = Program(cubin, kernels)

    def same_as(self, other: ReloadableProgram) -> bool:
        """Whether both run the same machine code in the same way."""
        return self._cubin == other._cubin and self.calls == other.calls

    def reload(self) -> Program:
        """Load the cubin anew, so that no global of the device code keeps its value."""
        self.program.unload()
        self.program = Program(self._cubin, self._kernels)
        return self.program

    def unload(self) -> None:
        self.program.unload()


class PreparedCall:
    """A call with all addresses filled in: enqueue it as often as needed."""

    def __init__(
        self, context: driver.Context, program: Program, call: Call, regions: Mapping[str, Region]
    ) -> None:
        self._context = context
        self._steps: list[driver.PreparedLaunch | Region] = []
        for step in call.steps:
            if step.memset is not None:
                self._steps.append(regions[step.memset])
            else:
                self._steps.append(_prepare(context, program, step, regions))
        self.steps = len(self._steps)

    def enqueue(self) -> None:
        """Enqueue all steps; RequestRefused if the driver refuses a launch outright."""
        for index in range(self.steps):
            self.enqueue_step(index)

    def enqueue_step(self, index: int) -> None:
        """Enqueue the step at `index` of the call; RequestRefused if the driver refuses it."""
        step = self._steps[index]
        if isinstance(step, Region):
            self._context.fill_bytes(step.pointer, 0, step.size)
            return
        try:
            step.enqueue(self._context.stream)
        except driver.CudaError as error:
            if error.sticky:
                raise
            raise RequestRefused("launch", _refused(step.function, error)) from None


def _prepare(
    context: driver.Context, program: Program, step: Step, regions: Mapping[str, Region]
) -> driver.PreparedLaunch:
    function = program.functions[step.kernel or ""]
    _check_parameters(function, step.args)
    if step.shared:
        try:
            function.allow_dynamic_shared(step.shared)
        except driver.CudaError as error:
            if error.sticky:
                raise
            most = context.device.attribute(driver.MAX_SHARED_OPTIN)
            raise RequestRefused(
                "launch",
                f"kernel {function.name} asks for {step.shared} bytes of dynamic shared memory "
                f"on top of {function.shared_bytes} static ones; a block can have {most} in all",
            ) from None
    values: list[object] = []
    for kind, value in step.args:
        if kind == "buffer":
            values.append(ctypes.c_uint64(regions[value].pointer))
        elif kind == "tensor_map":
            values.append(_encoded(context, function, value, regions[value.buffer]))
        else:
            values.append(_SCALARS[kind](value))
    return driver.PreparedLaunch(
        function, grid=step.grid, block=step.block, shared=step.shared, arguments=values
    )


def _encoded(
    context: driver.Context, function: driver.Function, wanted: TensorMap, region: Region
) -> EncodedTensorMap:
    if context.device.attribute(driver.MAJOR) < 9:
        raise RequestRefused(
            "launch",
            f"kernel {function.name} takes a tensor map; this GPU, {context.device.name}, has no "
            "Tensor Memory Accelerator: that takes compute capability 9.0 or newer",
        )
    try:
        return encode_tensor_map(
            region.pointer,
            dtype=wanted.dtype,
            shape=wanted.shape,
            strides=wanted.strides,
            box=wanted.box,
            swizzle=wanted.swizzle,
        )
    except driver.CudaError as error:
        if error.sticky:
            raise
        raise RequestRefused(
            "launch", f"the driver refused the tensor map of {wanted.buffer!r}: {error}"
        ) from None


def _check_parameters(function: driver.Function, args: tuple[Argument, ...]) -> None:
    """Refuse arguments that do not fit the kernel's signature: it would read garbage."""
    sizes = function.parameter_sizes()
    if sizes is None:
        return
    if len(sizes) != len(args):
        raise RequestRefused(
            "launch",
            f"kernel {function.name} takes {len(sizes)} parameters, the plan gives {len(args)}",
        )
    for number, (size, (kind, value)) in enumerate(zip(sizes, args, strict=True), 1):
        given = _SIZES.get(kind) or ctypes.sizeof(_SCALARS[kind])
        if size != given:
            what = _WORDS[kind](value) if kind in _WORDS else f"{kind} {value}"
            raise RequestRefused(
                "launch",
                f"parameter {number} of kernel {function.name} has {size} bytes, but the plan "
                f"passes {what} of {given} bytes; give the argument its type as "
                "{ value = ..., type = ... } or change the parameter",
            )


def _refused(function: driver.Function, error: driver.CudaError) -> str:
    if error.code == driver.OUT_OF_MEMORY:
        return (
            f"the launch of kernel {function.name} found no device memory: it needs "
            f"{function.local_bytes} bytes of local memory in every thread that the device can "
            "hold; smaller arrays in the kernel, or an index known when compiling, help"
        )
    return (
        f"the launch of kernel {function.name} was refused: {error}. It uses "
        f"{function.registers} registers per thread and {function.shared_bytes} bytes of static "
        "shared memory; a smaller block, __launch_bounds__ or less shared memory may help"
    )
