"""Machine code that a candidate's compilers have left in its folder, read in its jail.

Triton, NVRTC and `load_inline` keep what they make. The candidate could have written anything
there, so it is read in a jail, and the result is a claim.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mcts.domain import SassFacts
from mcts.errors import WorldError
from profilers.sass import read_executable_sass, read_sass
from profilers.sass.binaries import readable_names

_MOST_FILES = 24
_LARGEST = 64 * 2**20
_TRITON = "triton"
"""Folder of the compiler whose line numbers refer to the candidate's file (see `building`)."""


def disassemble(request: dict[str, Any]) -> dict[str, Any]:
    """Facts about each kernel by name.

    Kernels that several files hold in different forms are left out, because it is unknown which of
    them runs. `missing` says why there is nothing.
    """
    found: dict[str, SassFacts] = {}
    doubtful: set[str] = set()
    problems: list[str] = []
    for path in binaries_below(Path(request["folder"])):
        try:
            facts = _facts(path, request["arch"])
        except WorldError as error:
            problems.append(str(error))
            continue
        for name, one in facts.items():
            if found.setdefault(name, one).code_hash != one.code_hash:
                doubtful.add(name)
    told = {
        name: one.model_dump(mode="json", exclude_defaults=True)
        for name, one in found.items()
        if name not in doubtful
    }
    nothing = "its compilers have left no machine code that can be read"
    return {"sass": told, "missing": None if told else (problems or [nothing])[0]}


def binaries_below(folder: Path) -> list[Path]:
    """Cubins and shared objects, the smaller ones first; at most `_MOST_FILES`."""
    found = [(path.stat().st_size, path) for path in _binaries(folder)]
    return [path for size, path in sorted(found) if 0 < size <= _LARGEST][:_MOST_FILES]


def _binaries(folder: Path) -> Iterator[Path]:
    for pattern in ("*.cubin", "*.so"):
        for path in folder.rglob(pattern):
            if path.is_file() and not path.is_symlink():
                yield path


def _facts(path: Path, arch: str) -> dict[str, SassFacts]:
    if path.suffix == ".so":
        found = read_executable_sass(path, arch)
    else:
        facts = read_sass(path)
        names = readable_names(list(facts))
        found = {names[name]: one for name, one in facts.items()}
    of_python = _TRITON in path.parts
    return found if of_python else {name: _without_lines(one) for name, one in found.items()}


def _without_lines(facts: SassFacts) -> SassFacts:
    """The same without source lines: lines of CUDA inside a string are not lines of the file."""
    loops = tuple(loop.model_copy(update={"line": None}) for loop in facts.loops)
    return facts.model_copy(update={"lines": {}, "loops": loops})
