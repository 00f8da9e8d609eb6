"""What `rooftree inspect` was asked for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from mcts.errors import InputError

DEFAULT_ARCH = "sm_90a"
_ARCH = re.compile(r"sm_\d{2,3}[af]?")


def check_arch(arch: str) -> None:
    """InputError for what is no name of an architecture."""
    if not _ARCH.fullmatch(arch):
        raise InputError(f"--arch {arch!r}: write it as {DEFAULT_ARCH}")


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectRequest:
    """The options of the command line, as they were given.

    `values` are ``NAME=VALUE`` texts; `arch` is None if it was left to us; `args` go to a
    program; `beside` is a second file to look at in the same way.
    """

    file: Path
    plan: Path | None = None
    task: str | None = None
    values: tuple[str, ...] = ()
    device: int = 0
    replay: Path | None = None
    save: Path | None = None
    out: Path | None = None
    limit: int = 5
    arch: str | None = None
    timeout_s: float = 60.0
    as_json: bool = False
    args: tuple[str, ...] = ()
    beside: Path | None = None
    sass: bool = False
    what_if: bool = False

    def check(self) -> None:
        """Raise InputError for what could only fail later, after the work."""
        if self.arch is not None:
            check_arch(self.arch)
        if self.out is not None:
            if self.out.suffix.lower() != ".svg":
                raise InputError(f"--out {self.out}: the picture is an SVG, name it so")
            _check_place(self.out)
        for option, given in (
            ("--save", self.save),
            ("--out", self.out),
            ("--sass", self.sass),
            ("--what-if", self.what_if),
        ):
            if given and self.beside is not None:
                raise InputError(f"{option} is for one file: leave {self.beside} out")
        if self.save is not None:
            if self.replay is not None:
                raise InputError("--save keeps what is measured: leave --replay out")
            _check_place(self.save)


def _check_place(path: Path) -> None:
    if not path.parent.is_dir():
        raise InputError(f"{path.parent} is not a folder: make it first")
    if path.is_dir():
        raise InputError(f"{path} is a folder: name a file")
