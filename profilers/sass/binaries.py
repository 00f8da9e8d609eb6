"""The cubins inside a compiled program, and which of them a device would run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mcts.errors import WorldError
from profilers.sass.tools import tool_lines

_LISTED = re.compile(r"ELF file\s+\d+:\s*(\S.*)$")
_ARCHITECTURE = re.compile(r"sm_(\d{2,3})([af]?)")
_IN_NAME = re.compile(r"\.(sm_\d{2,3}[af]?)\.cubin$")
_NO_CODE = "does not contain device code"


@dataclass(frozen=True, slots=True)
class EmbeddedCubin:
    """A cubin by the name it is extracted under; several may have one name."""

    name: str
    arch: str


def cubins_in(program: Path, cuobjdump: Path) -> list[EmbeddedCubin]:
    """The cubins of all architectures in `program`; WorldError where it cannot be read."""
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
    """Of `available` targets the one that a `device` ("sm_90a", "sm_86") runs; None: none.

    Code for one architecture runs on later ones of the same generation: sm_80 on sm_86. A target
    with an `a` is for that very device, one with an `f` for it and later ones of its generation.
    The closest wins, as for the driver.
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
