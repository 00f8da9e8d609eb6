"""nvcc: how it is found and called, and which files it reports to have read."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from mcts.errors import InputError, WorldError
from profilers.compiling.toolchain import find_tool

DEPENDENCIES = "dependencies.d"
BASE_OPTIONS = (
    "-std=c++17", "-O3", "-DNDEBUG", "--expt-relaxed-constexpr",
    "--expt-extended-lambda", "-shared", "-cudart", "static",
    # The library is loaded next to PyTorch's: what both define must not be shared.
    "-Xcompiler", "-fPIC,-fno-gnu-unique", "-Xlinker", "-Bsymbolic", "-Xlinker", "-z,defs",
    "-Xlinker", "--warn-unresolved-symbols", "-Xlinker", "--build-id=none",
    "-Xptxas", "-v", "-Xcudafe", "--error_limit=20",
)  # fmt: skip
"""Options of every compilation. The driver's functions are found when the library is loaded."""
_VERSION_TIMEOUT_S = 30.0
_WORD = re.compile(r"(?:\\.|[^\s\\]|\\(?=\s|$))+")
_ESCAPED = re.compile(r"\\([ #\\])|\$(\$)")
_UNQUOTABLE = re.compile(r'["`\\\n]')


def nvcc_problem() -> str | None:
    """Why host candidates cannot be compiled here; None if they can."""
    try:
        versions(find_nvcc())
    except WorldError as error:
        return str(error)
    return None


def find_nvcc() -> Path:
    """WorldError if there is none."""
    found = find_tool("nvcc")
    if found is None:
        raise WorldError(
            "host candidates need nvcc: install the CUDA toolkit, or put its bin folder on PATH"
        )
    return found.resolve()


@lru_cache(maxsize=4)
def versions(nvcc: Path) -> tuple[str, ...]:
    """The versions that nvcc and the host compiler print. WorldError if one does not run."""
    told = []
    for command in ([str(nvcc), "--version"], ["g++", "--version"]):
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=_VERSION_TIMEOUT_S, check=True
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise WorldError(
                f"host candidates need nvcc and g++, and {command[0]} does not run: {error}"
            ) from None
        told.append(done.stdout.strip())
    return tuple(told)


def check_folders(folders: Sequence[Path]) -> None:
    """InputError for an include folder whose name nvcc, which runs a shell, does not take."""
    for folder in folders:
        if _UNQUOTABLE.search(str(folder)):
            raise InputError(
                f"the include folder {str(folder)!r} has a quote, a backquote or a backslash in "
                "its name, which nvcc does not take: link to it under another name"
            )
        if os.pathsep in str(folder):
            raise InputError(
                f"the include folder {str(folder)!r} has a {os.pathsep!r} in its name, which "
                "compilers take for two folders: link to it under another name"
            )


def compile_command(
    arch: str, macros: Sequence[str], folders: Sequence[Path], *, source: str, library: str
) -> list[str]:
    """The nvcc command that makes `library` of `source`; folders and macros are passed unchanged.

    nvcc ends a value at a comma: a backslash protects it in a macro, quotes in a folder (see
    ``nvcc --dryrun``).
    """
    number = arch.removeprefix("sm_")
    target = f"arch=compute_{number},code=sm_{number}"
    return [
        str(find_nvcc()), *BASE_OPTIONS, "-gencode", target,
        *(macro.replace(",", r"\,") for macro in macros), *(f'-I"{path}"' for path in folders),
        "-MD", "-MF", DEPENDENCIES, "-o", library, source,
    ]  # fmt: skip


def dependencies(text: str) -> list[Path]:
    """The prerequisites that a make rule names."""
    words = _WORD.findall(text.replace("\\\n", " ").partition(":")[2])
    return [Path(_ESCAPED.sub(lambda found: found[1] or found[2], word)) for word in words]
