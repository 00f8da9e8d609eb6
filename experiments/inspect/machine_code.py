"""Machine code inside an executable or a cubin, and which of it belongs to a profiled kernel."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from mcts.domain import KernelProfile, Profile, SassFacts
from mcts.domain import metrics as m
from mcts.errors import InputError, WorldError

MOST_READ = 20
"""Kernels of an executable that are looked at without running it, those with most code."""
_TIMEOUT_S = 120.0


def read_static(
    path: Path, *, cubin: bool, arch: str | None, unmeasured: str, source: Path | None = None
) -> Profile:
    """A profile from the machine code alone; `unmeasured` says why nothing was run, `source` is
    the file that `path` was built from.

    Raises InputError if the file holds none that can be read.
    """
    from profilers import ncu
    from profilers.profiles.profiling import TIMELINE

    try:
        code = read_cubin(path) if cubin else read_binary(path, prefer=arch)
    except WorldError as error:
        raise InputError(f"{source or path}: {error}; {unmeasured}") from None
    kernels = coded_kernels(code)
    if not kernels:
        raise InputError(f"{source or path} holds no kernel; {unmeasured}")
    missing = dict.fromkeys((ncu.TOOL, TIMELINE), unmeasured)
    if len(kernels) > MOST_READ:
        missing["other kernels"] = f"{len(kernels) - MOST_READ} with less code are left out"
    return Profile(kernels=tuple(kernels[:MOST_READ]), missing=missing)


def coded_kernels(code: Mapping[str, SassFacts]) -> list[KernelProfile]:
    """Kernels by bare name, those with most instructions first; nothing else is known of them."""
    from profilers.kernel_names import bare_name

    ordered = sorted(code.items(), key=lambda item: -item[1].instructions)
    return [KernelProfile(name=bare_name(name), sass=facts) for name, facts in ordered]


def read_binary(path: Path, *, prefer: str | None = None) -> dict[str, SassFacts]:
    """Facts of every kernel in an executable or a cubin, by its name there.

    Where a kernel is there for several architectures, that of `prefer` ("sm_90a") is taken, else
    the last by name. Raises WorldError if there is no machine code or no tool to read it.
    """
    from profilers.sass import read_sass

    with tempfile.TemporaryDirectory(prefix="rooftree-elf-") as folder:
        found: dict[str, SassFacts] = {}
        for cubin in extracted(path, Path(folder), prefer):
            found.update(read_sass(cubin))
    return found


def extracted(path: Path, folder: Path, prefer: str | None) -> list[Path]:
    """The cubins of an executable, written to `folder`; of `prefer`, if there are any, the last.

    Raises WorldError if there are none, or no tool to take them out.
    """
    return _in_order(_extract(path, folder), prefer)


def read_cubin(path: Path) -> dict[str, SassFacts]:
    """Facts of every kernel in a cubin. Raises WorldError if it cannot be read."""
    from profilers.sass import read_sass

    return dict(read_sass(path))


def _extract(path: Path, folder: Path) -> list[Path]:
    """Write the cubins embedded in an executable to `folder`."""
    from profilers.children.processes import child_environment
    from profilers.children.supervised import run_to_end
    from profilers.compiling.toolchain import environment_with, find_tool

    tool = find_tool("cuobjdump")
    if tool is None:
        raise WorldError("cuobjdump was not found: pip install 'rooftree[cuda]'")
    ended = run_to_end(
        [str(tool), "-xelf", "all", str(path.resolve())],
        env=environment_with(tool, base=child_environment()),
        cwd=folder,
        folder=folder,
        timeout_s=_TIMEOUT_S,
    )
    if ended.stopped:
        raise WorldError(f"cuobjdump {ended.problem}")
    cubins = sorted(folder.glob("*.cubin"))
    if not cubins:
        raise WorldError(f"{path.name} holds no device code of its own")
    return cubins


def _in_order(cubins: Iterable[Path], prefer: str | None) -> list[Path]:
    """Least wanted first: later ones replace what earlier ones said."""
    return sorted(cubins, key=lambda path: (prefer is not None and prefer in path.name, path.name))


def code_of(kernel: KernelProfile, code: Mapping[str, SassFacts]) -> SassFacts | None:
    """The machine code of a profiled kernel, or None if it cannot be told.

    Profilers print names without types, so the instances of a template share one. The one that uses
    as many registers as the launch did is then taken, if there is only one.
    """
    from profilers.kernel_names import bare_name

    named = [facts for name, facts in code.items() if bare_name(name) == bare_name(kernel.name)]
    if len(named) == 1:
        return named[0]
    used = kernel.value(m.REGISTERS)
    fitting = [facts for facts in named if facts.registers == used]
    return fitting[0] if len(fitting) == 1 else None
