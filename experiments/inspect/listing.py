"""Machine code beside the source lines that it came from."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.inspect import kernels
from experiments.inspect.building import built
from experiments.inspect.machine_code import extracted
from experiments.inspect.request import DEFAULT_ARCH, InspectRequest
from experiments.inspect.targets import identify
from experiments.runs.tasks.checks import naming
from experiments.text.words import clean, counted
from mcts.errors import InputError, WorldError
from mcts.text import cut

if TYPE_CHECKING:
    from profilers.sass.by_line import CodedLine

Code = Mapping[str, Sequence["CodedLine"]]
"""By kernel."""


def code_of(request: InspectRequest, *, arch: str | None) -> Code:
    """The machine code of a request's file by source line, compiled for `arch`.

    Raises InputError for a file without machine code or that names no lines.
    """
    from profilers.profiles.inspecting import code_beside_source

    target = identify(request.file, planned=request.plan is not None)
    wanted = request.arch or arch or DEFAULT_ARCH
    if target.kind == "kernel":
        assert target.source is not None
        kernel = kernels.read_kernel(
            target.path, target.source, plan=request.plan, task=request.task, values=request.values
        )
        with naming(target.path):
            return code_beside_source(kernel.source, kernel.values, arch=wanted)
    if target.kind in ("program", "library"):
        values = kernels.macros(request.values)
        library = target.kind == "library"
        with built(
            target.path, values, arch=wanted, timeout_s=request.timeout_s, library=library
        ) as made:
            return _of_binary(made, prefer=wanted)
    if target.kind in ("executable", "cubin"):
        return _of_binary(target.path, prefer=wanted, cubin=target.kind == "cubin")
    raise InputError(f"{target.path} is a report: --sass would do nothing")


def _of_binary(path: Path, *, prefer: str | None, cubin: bool = False) -> Code:
    from profilers.sass.by_line import read_code

    found: dict[str, Sequence[CodedLine]] = {}
    try:
        with tempfile.TemporaryDirectory(prefix="rooftree-elf-") as folder:
            for each in [path] if cubin else extracted(path, Path(folder), prefer):
                found.update(read_code(each))
    except WorldError as error:
        raise InputError(f"{path}: {error}") from None
    return found


def as_json(code: Code) -> list[dict[str, Any]]:
    """A line of source with its instructions; `line` is null for those that name none."""
    return [
        {
            "kernel": name,
            "lines": [{"line": each.line, "sass": list(each.instructions)} for each in lines],
        }
        for name, lines in code.items()
    ]


def show(code: Code, source: str | None) -> None:
    """Print each source line that became code, and below it what it became."""
    text = source.splitlines() if source else []
    for name, lines in code.items():
        count = sum(len(each.instructions) for each in lines)
        print(f"\nmachine code of {clean(name)} by source line, {counted(count, 'instruction')}")
        print("\n".join(_shown(lines, text)))


def _shown(lines: Sequence[CodedLine], source: Sequence[str]) -> Iterator[str]:
    for each in lines:
        if each.line is None:
            yield "   no line of the file"
        else:
            known = source[each.line - 1].strip() if each.line <= len(source) else ""
            yield f"   line {each.line}: {cut(clean(known), 100)}".rstrip().removesuffix(":")
        for instruction in each.instructions:
            yield f"      {clean(instruction)}"
