#!/usr/bin/env python3
"""Verify and time this kernel again, and say whether the speedup is what was reported.

Runs `rooftree evaluate` in a fresh folder, with the task's own files. Whatever stands behind `--`
goes to it, such as `-- --device 1` or `-- --evaluator replay --recording FILE`.

Exit code 0: right, and as fast as reported; 1: wrong, or another speedup; 2: it could not be told.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

CONFIRMED, REFUTED, UNKNOWN = 0, 1, 2


def main(argv: list[str] | None = None) -> int:
    """Judge the kernel, print what came out beside what was reported, return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rooftree", default=_command(), help="the command, if not on the PATH")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("more", nargs="*", metavar="-- OPTION", help="for rooftree evaluate")
    options = parser.parse_args(argv)
    here = Path(__file__).resolve().parent
    expected = json.loads((here / "expected.json").read_text(encoding="utf-8"))
    try:
        found = judge(here, expected, command=options.rooftree, more=options.more)
    except (OSError, ValueError) as error:
        print(f"cannot tell: {error}", file=sys.stderr)
        return UNKNOWN
    verdict = compare(expected, found)
    if options.json:
        print(json.dumps(verdict, ensure_ascii=False))
    else:
        print("\n".join(words(verdict)))
    code: int = verdict["exit_code"]
    return code


def _command() -> str:
    """`rooftree`, also of an environment that is not on the PATH."""
    beside = Path(sys.executable).with_name("rooftree")
    return shutil.which("rooftree") or (str(beside) if beside.is_file() else "rooftree")


def judge(here: Path, expected: dict[str, Any], *, command: str, more: list[str]) -> dict[str, Any]:
    """What `rooftree evaluate --json` says of the kernel. ValueError where it says nothing."""
    if shutil.which(command) is None:
        raise ValueError(f"no command {command} here: install Rooftree, or name it with --rooftree")
    command = str(Path(shutil.which(command) or command).absolute())
    with tempfile.TemporaryDirectory(prefix="rooftree-reproduce-") as folder:
        for name in expected["files"]:
            source, target = here / name, Path(folder, name)
            if source.is_dir():
                shutil.copytree(source, target)
            else:
                shutil.copyfile(source, target)
        relative = [str(Path(item).resolve()) if Path(item).is_file() else item for item in more]
        arguments = [command, "evaluate", *expected["arguments"], *relative, "--json"]
        print(f"running {' '.join(arguments)}", file=sys.stderr, flush=True)
        done = subprocess.run(arguments, cwd=folder, stdout=subprocess.PIPE, text=True, check=False)
    if not done.stdout.strip():
        raise ValueError(f"{command} evaluate ended with exit code {done.returncode}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def compare(expected: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """The two speedups side by side.

    `inside`: the new speedup lies in the reported interval. `agrees`: the two differ by no more
    than their 95 % intervals together allow, on a logarithmic scale. A second measurement that is
    as uncertain as the first falls outside of the first's interval one time in six by chance alone,
    so that `agrees` decides.
    """
    judged = found["candidates"][0]
    again = {key: judged[key] for key in ("status", "speedup", "speedup_low", "speedup_high")}
    verdict = {
        "reported": expected["reported"], "again": again, "message": judged["message"],
        "reported_on": expected["hardware"], "again_on": found["hardware"],
        "inside": None, "agrees": None, "exit_code": REFUTED,
    }  # fmt: skip
    if judged["status"] != "measured":
        return verdict
    if expected["device"] not in found["hardware"]:
        return {**verdict, "exit_code": UNKNOWN}
    first, second = _log_interval(expected["reported"]), _log_interval(again)
    inside = first[0] <= second[1] <= first[2]
    apart = second[1] - first[1]
    slack = (
        math.hypot(first[2] - first[1], second[1] - second[0])
        if apart > 0
        else math.hypot(first[1] - first[0], second[2] - second[1])
    )
    agrees = inside or abs(apart) <= slack
    code = CONFIRMED if agrees else REFUTED
    return {**verdict, "inside": inside, "agrees": agrees, "exit_code": code}


def _log_interval(speedup: dict[str, Any]) -> tuple[float, float, float]:
    low, middle, high = (
        math.log(speedup[key]) for key in ("speedup_low", "speedup", "speedup_high")
    )
    return low, middle, high


def words(verdict: dict[str, Any]) -> list[str]:
    """What a person reads."""
    again, lines = verdict["again"], [_row("reported", verdict["reported"], verdict["reported_on"])]
    if again["status"] != "measured":
        return [*lines, f"again      {again['status']}: {verdict['message']}", "not reproduced"]
    lines.append(_row("again", again, verdict["again_on"]))
    if verdict["inside"] is None:
        return [*lines, "right, but measured on other hardware: the speedups cannot be compared"]
    if verdict["inside"]:
        return [*lines, "reproduced: right, and the speedup lies within the reported interval"]
    if verdict["agrees"]:
        return [
            *lines,
            "reproduced: right, and the speedup, outside of the reported interval, differs by no "
            "more than both measurements' uncertainty",
        ]
    return [*lines, "not reproduced: right, but the speedup differs from the reported one"]


def _row(name: str, speedup: dict[str, Any], hardware: str) -> str:
    return (
        f"{name:<10} {speedup['speedup']:.3f}x (95 % interval {speedup['speedup_low']:.3f} to "
        f"{speedup['speedup_high']:.3f}) on {hardware}"
    )


if __name__ == "__main__":
    sys.exit(main())
