"""A program or a library of the user's, built with nvcc."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from experiments.text.words import clean
from mcts.domain import Scalar, kernel_macros
from mcts.errors import InputError
from mcts.text import cut

_ERROR = re.compile(r"\b(?:error|fatal)\b")
_MOST_TOLD = 300


@contextmanager
def built(
    path: Path,
    values: Mapping[str, Scalar],
    *,
    arch: str,
    timeout_s: float,
    library: bool = False,
) -> Iterator[Path]:
    """The executable of the program at `path`, or the object file of a `library`, there as long as
    the context.

    `values` become macros. Raises InputError with the compiler's first error, or if there is
    no nvcc.
    """
    from profilers.children.processes import child_environment
    from profilers.children.supervised import run_to_end
    from profilers.compiling.toolchain import environment_with, find_tool

    nvcc = find_tool("nvcc")
    if nvcc is None:
        what = (
            "host code (it launches its kernels itself)" if library else "a program (it has a main)"
        )
        raise InputError(
            f"{path} is {what}: building it needs nvcc, which was not found; install a "
            "CUDA toolkit, or give what it is built into"
        )
    target = f"-gencode=arch={arch.replace('sm_', 'compute_')},code={arch}"
    options = ["-O3", "-lineinfo", target, *kernel_macros(values)]
    if library:  # nvcc does not know what to do with a .cuh
        options += ["-c", "-x", "cu"]
    with tempfile.TemporaryDirectory(prefix="rooftree-build-") as name:
        folder = Path(name)
        made = folder / (f"{path.stem}.o" if library else path.stem)
        ended = run_to_end(
            [str(nvcc), *options, str(path.resolve()), "-o", str(made)],
            env=environment_with(nvcc, base=child_environment()),
            cwd=folder,
            folder=folder,
            timeout_s=timeout_s,
        )
        if ended.stopped:
            raise InputError(f"{path}: nvcc {ended.problem}: give it longer with --timeout-s")
        if ended.problem is not None or not made.is_file():
            raise InputError(f"{path} cannot be built: {_first_error(ended.output)}")
        yield made


def _first_error(output: str) -> str:
    """The first line of nvcc's output that names an error, else the last that says anything."""
    lines = [text for line in output.splitlines() if (text := clean(line).strip())]
    told = next((line for line in lines if _ERROR.search(line)), lines[-1] if lines else "")
    return cut(told, _MOST_TOLD) or "nvcc said nothing"
