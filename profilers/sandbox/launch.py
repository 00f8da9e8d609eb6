"""Run a command in a jail: ``python -P -m profilers.sandbox.launch --jail JSON -- COMMAND ...``

What came into force is written as one line of JSON to the descriptor ``--report`` before the
command begins. Inherited descriptors stay open for the command. This process ends as the command
does.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from profilers.sandbox.enter import enter
from profilers.sandbox.jail import Jail
from profilers.sandbox.report import JailReport

_NOT_STARTED = 127


def launch_command(jail: Jail, command: Sequence[str], *, report: int) -> list[str]:
    """The command line that runs `command` in `jail`."""
    start = [sys.executable, "-P", "-m", "profilers.sandbox.launch"]
    return [*start, "--jail", jail.to_json(), "--report", str(report), "--", *command]


def environment_inside(
    report: JailReport, jail: Jail, outside: Mapping[str, str]
) -> dict[str, str]:
    """`outside`, with TMPDIR set to a folder that can be written inside the jail."""
    environment = dict(outside)
    if report.has("mount"):
        environment["TMPDIR"] = "/tmp"
    elif jail.writable:
        environment["TMPDIR"] = str(jail.writable[0])
    cache = environment.get("XDG_CACHE_HOME")
    if cache and not any(Path(cache).is_relative_to(folder) for folder in jail.writable):
        del environment["XDG_CACHE_HOME"]
    return environment


def write_report(fd: int, report: JailReport) -> None:
    """Write `report` as one line to the descriptor `fd`, and close it."""
    with os.fdopen(fd, "w") as stream:
        stream.write(report.to_json() + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m profilers.sandbox.launch")
    parser.add_argument("--jail", required=True, help="the description, as Jail.to_json writes it")
    parser.add_argument("--report", type=int, help="descriptor to which the report is written")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    jail = Jail.from_json(options.jail)
    report = enter(jail)
    if options.report is not None:
        write_report(options.report, report)
    environment = environment_inside(report, jail, os.environ)
    try:
        os.execvpe(options.command[0], options.command, environment)
    except OSError as error:
        print(f"cannot start {options.command[0]} in a jail: {error.strerror}", file=sys.stderr)
        sys.exit(_NOT_STARTED)


if __name__ == "__main__":
    main()
