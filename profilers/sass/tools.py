"""Runs a binary tool and yields its output line by line."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from mcts.errors import WorldError
from profilers.compiling.toolchain import environment_with, find_tool
from profilers.sass.listing import LONGEST_LINE

TIMEOUT_S = 300.0
MOST_CHARACTERS = 1 << 31
"""Most output that is read: two gigabytes are some thirty million instructions."""

_PACKAGES = {"nvdisasm": "nvidia-cuda-nvdisasm", "cuobjdump": "nvidia-cuda-cuobjdump"}


def required_tool(name: str) -> Path:
    """The path of the tool; WorldError, with what to install, if it is not found."""
    found = find_tool(name)
    if found is None:
        raise WorldError(f"SASS facts need {name}; install {_PACKAGES[name]} or a CUDA toolkit")
    return found


def tool_lines(
    tool: Path,
    *arguments: str,
    given: str = "",
    cwd: Path | None = None,
    timeout_s: float = TIMEOUT_S,
) -> Iterator[str]:
    """Lines of the output of ``tool arguments``, in pieces of at most `LONGEST_LINE` characters.

    `given` is its standard input. Raises WorldError if the tool cannot be run, fails, does not end
    in time or prints without end. It is killed when the caller stops reading.
    """
    with tempfile.TemporaryFile() as complaints, tempfile.TemporaryFile() as standard_input:
        standard_input.write(given.encode(errors="replace"))
        standard_input.seek(0)
        try:
            process = subprocess.Popen(
                [str(tool), *arguments], cwd=cwd, env=_environment(tool), encoding="utf-8",
                errors="replace", stdin=standard_input, stdout=subprocess.PIPE, stderr=complaints,
            )  # fmt: skip
        except OSError as error:
            raise WorldError(f"{tool.name} could not be run: {error.strerror or error}") from None
        timer = threading.Timer(timeout_s, process.kill)
        timer.start()
        last, read = "", 0
        try:
            assert process.stdout is not None
            while line := process.stdout.readline(LONGEST_LINE):
                read += len(line)
                if read > MOST_CHARACTERS:
                    raise WorldError(f"{tool.name} prints without end: {' '.join(arguments)[:200]}")
                last = line
                yield line
            process.wait()
        finally:
            in_time = timer.is_alive()
            timer.cancel()
            with process:
                process.kill()
        if not in_time:
            raise WorldError(f"{tool.name} did not end within {timeout_s:g} s")
        if process.returncode != 0:
            said = _last_line(complaints) or last.strip() or f"status {process.returncode}"
            raise WorldError(f"{tool.name} cannot read {_subject(arguments)}: {said[:200]}")


def _environment(tool: Path) -> dict[str, str]:
    companions = [found for name in ("nvdisasm", "cuobjdump") if (found := find_tool(name))]
    return environment_with(tool, *companions, base={"PATH": os.environ.get("PATH", "")})


def _subject(arguments: tuple[str, ...]) -> str:
    return arguments[-1] if arguments else "its input"


def _last_line(file: IO[bytes]) -> str:
    file.seek(0)
    lines = file.read(65536).decode(errors="replace").strip().splitlines()
    return lines[-1].strip() if lines else ""
