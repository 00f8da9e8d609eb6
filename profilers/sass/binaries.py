"""Compiled programs: the cubins inside, which of them a device would run, and names of kernels."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mcts.errors import WorldError
from profilers.compiling.toolchain import find_tool
from profilers.kernel_names import bare_name
from profilers.sass.tools import tool_lines

_LISTED = re.compile(r"ELF file\s+\d+:\s*(\S.*)$")
_ARCHITECTURE = re.compile(r"sm_(\d{2,3})([af]?)")
_IN_NAME = re.compile(r"\.(sm_\d{2,3}[af]?)\.cubin$")
_NO_CODE = "does not contain device code"
_DEMANGLERS = ("cu++filt", "c++filt")
_DEMANGLE_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class EmbeddedCubin:
    """A cubin by the name of the file it is extracted to; several may share one name."""

    name: str
    arch: str


def cubins_in(program: Path, cuobjdump: Path) -> list[EmbeddedCubin]:
    """The cubins of all architectures in `program`; WorldError if it cannot be read."""
    try:
        lines = list(tool_lines(cuobjdump, "-lelf", str(program)))
    except WorldError as error:
        if _NO_CODE in str(error):
            return []
        raise
    found = []
    for line in lines:
        listed = _LISTED.search(line)
        arch = _IN_NAME.search(listed.group(1).strip()) if listed else None
        if listed and arch:
            found.append(EmbeddedCubin(listed.group(1).strip(), arch.group(1)))
    return found


def extract_cubins(program: Path, cuobjdump: Path, arch: str, folder: Path) -> list[Path]:
    """Write the cubins for exactly `arch` to `folder`, in the order of their names."""
    wanted = f".{arch}.cubin"
    for _ in tool_lines(cuobjdump, "-xelf", wanted, str(program.resolve()), cwd=folder):
        pass
    return sorted(path for path in folder.iterdir() if path.name.endswith(wanted))


def best_architecture(available: Sequence[str], device: str) -> str | None:
    """The one of the `available` targets that a `device` ("sm_90a", "sm_86") runs, or None.

    Code for one architecture runs on later ones of the same generation: sm_80 on sm_86. A target
    with an `a` runs on that device only, one with an `f` also on later ones of its generation. The
    closest wins, as in the driver.
    """
    wanted = _ARCHITECTURE.fullmatch(device)
    if wanted is None:
        return None
    capability = int(wanted.group(1))
    runnable: list[tuple[int, str, str]] = []
    for target in dict.fromkeys(available):
        parts = _ARCHITECTURE.fullmatch(target)
        if parts is None:
            continue
        number, suffix = int(parts.group(1)), parts.group(2)
        fits = number <= capability and number // 10 == capability // 10
        if fits and (suffix != "a" or number == capability):
            runnable.append((number, {"a": "2", "f": "1", "": "0"}[suffix], target))
    return max(runnable)[2] if runnable else None


def readable_names(mangled: Sequence[str]) -> dict[str, str]:
    """Names as profilers show them, by linker name: bare, or with more of it if two would be equal.

    So ``_Z5scaleIfEvPT_`` is ``scale``, unless there is another ``scale``: then it is ``void
    scale<float>(float*)`` if a demangler is installed (cu++filt or c++filt), or else the linker
    name.
    """
    bare = {name: bare_name(name) for name in mangled}
    taken = Counter(bare.values())
    confused = [name for name in mangled if taken[bare[name]] > 1]
    full = _demangled(confused) if confused else {}
    taken_in_full = Counter(full.values())
    for name in confused:
        bare[name] = full[name] if taken_in_full[full[name]] == 1 else name
    return bare


def _demangled(names: Sequence[str]) -> dict[str, str]:
    given = "".join(f"{name}\n" for name in names)
    for tool in filter(None, map(find_tool, _DEMANGLERS)):
        try:
            lines = [
                line.strip()
                for line in tool_lines(tool, given=given, timeout_s=_DEMANGLE_TIMEOUT_S)
            ]
        except WorldError:
            continue
        if len(lines) == len(names):
            return dict(zip(names, lines, strict=True))
    return {name: name for name in names}
