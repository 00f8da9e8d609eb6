"""Whether the arguments of a launch fit the kernel's parameters: before it reads garbage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from profilers.compiling.calls import Argument, Step

_FITS = {
    "buffer": {"u64", "s64", "b64"},
    "tensor_map": {"b8[128]"},
    "int32": {"u32", "s32", "b32"},
    "uint32": {"u32", "s32", "b32"},
    "int64": {"u64", "s64", "b64"},
    "float32": {"f32"},
    "float64": {"f64"},
}
"""By what a plan passes, the types that PTX may have for it; it tells no sign, and no pointer from
a 64-bit number."""
_WORDS = {
    "u64": "a pointer or a 64-bit integer", "s64": "a 64-bit integer", "b64": "64 bits",
    "u32": "a 32-bit integer", "s32": "a 32-bit integer", "b32": "32 bits",
    "f32": "a float", "f64": "a double", "f16": "a half", "b16": "16 bits", "u16": "16 bits",
    "u8": "a byte", "s8": "a byte",
}  # fmt: skip
_TYPE_OF = {"f32": "float32", "f64": "float64", "u64": "int64", "u32": "int32"}


def misfits(step: Step, number: int, known: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """What is wrong with the arguments of launch `number`, in a line each; nothing is said of a
    kernel whose parameters are not `known`.
    """
    types = known.get(step.kernel or "")
    if types is None:
        return
    place = f"launch {number} ({step.kernel})"
    if len(types) != len(step.args):
        taken = "parameter" if len(types) == 1 else "parameters"
        yield f"{place}: the kernel takes {len(types)} {taken}, the plan gives {len(step.args)}"
        return
    for position, (argument, wanted) in enumerate(zip(step.args, types, strict=True), start=1):
        if wanted not in _FITS[argument[0]]:
            yield f"{place}: argument {position} is {_said(argument)}, {_advice(argument, wanted)}"


def _said(argument: Argument) -> str:
    kind, value = argument
    if kind == "tensor_map":
        return f"the tensor map of {value.buffer!r}"
    return f"buffer {value!r}" if kind == "buffer" else f"the {kind} {value}"


def _advice(argument: Argument, wanted: str) -> str:
    takes = _WORDS.get(wanted, f"a value of {wanted}")
    if wanted == "b8[128]":
        takes = "128 bytes, as a tensor map has: write { tensor_map = BUFFER, box = [...] }"
    elif wanted.startswith("b8"):
        takes = "a struct, which a plan cannot pass"
    said = f"the kernel takes {takes}"
    declared = _TYPE_OF.get(wanted)
    if argument[0] in ("buffer", "tensor_map") or declared is None:
        return said
    buffer = "name a buffer, or " if wanted == "u64" else ""
    return f"{said}: {buffer}write {{ value = ..., type = '{declared}' }}"
