"""From graphviz source to a file, by whichever `dot` there is."""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

from mcts.errors import InputError, WorldError
from mcts.files import write_whole

FORMATS = ("svg", "png", "pdf", "dot")
_PORTABLE = "graphviz-pure"
_FONTS = b"Arial,Liberation Sans,Helvetica,sans-serif"
_TIMEOUT_S = 120


def find_dot() -> str | None:
    """Path of Graphviz's `dot`, else of its port from PyPI, which has no PDF; None without both."""
    if found := shutil.which("dot"):
        return found
    return shutil.which(_PORTABLE) or shutil.which(_PORTABLE, path=sysconfig.get_path("scripts"))


def check_format(path: Path) -> str:
    """The picture format a file name asks for. InputError for one we cannot make."""
    form = path.suffix.removeprefix(".").lower()
    if form not in FORMATS:
        listed = ", ".join(f".{name}" for name in FORMATS)
        raise InputError(f"cannot draw {path.name}: the name must end in one of {listed}")
    return form


def render(source: str, path: Path) -> None:
    """Draw `source` into `path`, in the format of its name.

    Raises InputError when no program here can draw that format, WorldError when it fails.
    """
    form = check_format(path)
    if form == "dot":
        write_whole(path, source)
        return
    program = find_dot()
    if program is None:
        raise InputError(
            f"cannot draw {path.name}: Graphviz's dot is not installed: apt install graphviz (or "
            "brew install graphviz), or pip install graphviz-pure, or write a .dot file"
        )
    if form == "pdf" and Path(program).stem == _PORTABLE:
        raise InputError(
            f"cannot draw {path.name}: a PDF needs Graphviz's own dot, which is not installed; "
            "install Graphviz, or write .svg"
        )
    drawn = _run([program, f"-T{form}"], source)
    write_whole(path, _with_fonts(drawn) if form == "svg" else drawn)


def _with_fonts(svg: bytes) -> bytes:
    """The picture with fonts that are found where it is looked at, none wider than the layout's."""
    return re.sub(rb'font-family="[^"]*"', b'font-family="%s"' % _FONTS, svg)


def _run(command: list[str], source: str) -> bytes:
    try:
        done = subprocess.run(
            command, input=source.encode(), capture_output=True, timeout=_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise WorldError(f"{command[0]} could not draw the tree: {error}") from None
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
        raise WorldError(f"{command[0]} could not draw the tree: {lines[0]}")
    return done.stdout
