"""What does a search for the least energy save over one for the least time?

    python -m experiments.benchmarks.evidence.energy_searches TASK... --folder DIR [--minutes M]

For each task: `rooftree optimize TASK`, the same with `--objective energy` and the same seed, and
then the second's winner against the first's with `rooftree evaluate --energy`, whose turns with it
in random order. Prints a row for each task, and one on all variants whose energy its search
measured: whether those about as fast differ, and what power they draw. DIR keeps the runs and what
was compared; the same command goes on behind them, so that a GPU lent for minutes will do: what is
under way after `--minutes` is interrupted and resumed. `--show` prints the tables of what DIR has.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from experiments.runs.folders.journal import read_events
from mcts.errors import InputError, RooftreeError, WorldError
from mcts.journal.record import read_result

SEED, EVALUATIONS = 5, 40
COLUMNS = (
    "task", "by time: us, mJ", "by energy: us, mJ", "energy of the second over the first, 95 %",
    "time, 95 %", "time under load", "saves 10 % at most 2 % slower",
)  # fmt: skip
METERED_COLUMNS = (
    "task", "variants metered", "at most 2 % slower than the fastest", "their energy over its",
    "W above idle, at most 10 % slower", "W idle",
)  # fmt: skip
SAVED, SLOWER, NEAR = 0.9, 1.02, 1.1
_COMPARED, _METERED = "compared.json", "metered.json"
_GRACE_S = 30.0
"""How long a search that is interrupted may take to write what it has."""

Found = dict[str, Any]


class TimeIsUp(Exception):
    """No step begins or goes on any more."""


def main() -> int:
    options = _options()
    try:
        if not options.show:
            for task in options.tasks:
                measure(task, options)
    except TimeIsUp:
        print("the time is up; the same command goes on", file=sys.stderr)
    except RooftreeError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    try:
        print("\n".join(table(read(options.folder, options.tasks))))
        if variants := read_metered(options.folder, options.tasks):
            print("\n".join(["", *metered_table(variants)]))
    except RooftreeError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def read(folder: Path, tasks: Sequence[str]) -> dict[str, Found]:
    """What was compared, by task; all that the folder has if none is named.

    InputError for a file that is not of this command.
    """
    return _read(folder, tasks, _COMPARED, row, "comparison")


def read_metered(folder: Path, tasks: Sequence[str]) -> dict[str, list[Found]]:
    """The variants whose energy was measured in a search for it, by task.

    InputError for a file that is not of this command.
    """
    return _read(folder, tasks, _METERED, metered_row, "energies")


def _read(
    folder: Path, tasks: Sequence[str], file: str, check: Callable[[str, Any], Any], what: str
) -> dict[str, Any]:
    """What the file of each task holds, where there is one; `check` fails for another file."""
    named = tasks or sorted(path.parent.name for path in folder.glob(f"*/{file}"))
    found: dict[str, Any] = {}
    for task in named:
        path = folder / Path(task).name / file
        if not path.is_file():
            continue
        try:
            told = json.loads(path.read_text(encoding="utf-8"))
            check(task, told)
        except (ValueError, KeyError, TypeError):
            raise InputError(f"{path} holds no {what} of this command") from None
        found[task] = told
    return found


def metered_table(found: dict[str, list[Found]]) -> list[str]:
    """A row for each task, in Markdown."""
    rows = [metered_row(task, variants) for task, variants in found.items()]
    return [f"| {' | '.join(cells)} |" for cells in (METERED_COLUMNS, ["---"] * 6, *rows)]


def metered_row(task: str, variants: Sequence[Found]) -> list[str]:
    """The cells of a task. ValueError if no energy was measured."""
    fastest = min(variants, key=lambda one: float(one["time_us"]))
    alike = [one for one in variants if one["time_us"] <= SLOWER * fastest["time_us"]]
    over = [one["energy_mj"] / fastest["energy_mj"] for one in alike]
    near = [one for one in variants if one["time_us"] <= NEAR * fastest["time_us"]]
    watts = [1e3 * one["energy_mj"] / (one["call_us"] or one["time_us"]) for one in near]
    idle = [one["idle_w"] for one in variants if one["idle_w"]]
    return [
        task,
        str(len(variants)),
        str(len(alike)),
        f"{min(over):.3f} to {max(over):.3f}",
        f"{min(watts):.0f} to {max(watts):.0f}",
        f"{min(idle):.0f} to {max(idle):.0f}" if idle else "–",
    ]


def metered(run: Path) -> list[Found]:
    """What a run measured of each variant whose energy it knows; the fastest first."""
    found = []
    for node in read_result(tuple(read_events(run))).nodes:
        verdict = node.verdict
        if verdict is None or verdict.energy is None or verdict.timing is None:
            continue
        if node.duplicate_of is not None or node.candidate is None:
            continue
        energy = verdict.energy
        found.append({
            "tunables": dict(node.candidate.tunables),
            "time_us": verdict.timing.median_us,
            "energy_mj": energy.energy_mj,
            "call_us": energy.call_us,
            "idle_w": energy.idle_w,
            "limit_w": energy.limit_w,
        })  # fmt: skip
    return sorted(found, key=lambda one: float(one["time_us"]))


def table(found: dict[str, Found]) -> list[str]:
    """A row for each task, in Markdown."""
    rows = [row(task, told) for task, told in found.items()]
    return [f"| {' | '.join(cells)} |" for cells in (COLUMNS, ["---"] * len(COLUMNS), *rows)]


def row(task: str, told: Found) -> list[str]:
    """The cells of a task by what `evaluate --against --energy --json` says."""
    (winner,) = told["candidates"]
    energy = winner["energy"]
    if energy is None:
        why = winner["message"] or " ".join(winner["notes"])
        return [task, "–", "–", f"not measured: {why}", "–", "–", "–"]
    ratio, slower = energy["energy_mj"] / energy["baseline_mj"], 1 / winner["speedup"]
    # Versions before did not say how long calls took while energy was measured.
    under_load, before = energy.get("call_us"), energy.get("baseline_call_us")
    return [
        task,
        f"{winner['baseline_us']:.1f}, {energy['baseline_mj']:.4g}",
        f"{winner['time_us']:.1f}, {energy['energy_mj']:.4g}",
        f"{ratio:.3f} ({energy['ratio_low']:.3f} to {energy['ratio_high']:.3f})",
        f"{slower:.3f} ({1 / winner['speedup_high']:.3f} to {1 / winner['speedup_low']:.3f})",
        f"{under_load / before:.3f}" if under_load and before else "–",
        "yes" if ratio <= SAVED and slower <= SLOWER else "no",
    ]


def measure(task: str, options: argparse.Namespace) -> None:
    """The two searches and the comparison, as far as they are missing.

    WorldError with its last words if a step fails.
    """
    folder = options.folder / Path(task).name
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / _COMPARED).is_file():
        return
    device = ["--device", str(options.device)] if options.device is not None else []
    for objective in ("time", "energy"):
        run = folder / objective
        if _is_done(run):
            continue
        if (run / "config.toml").is_file():
            words = ["resume", str(run), *device]
        else:
            words = ["optimize", task, "--evaluator", "gpu", *device, "--objective", objective]
            words += ["--evaluations", str(options.evaluations), "--seed", str(options.seed)]
            words += ["--memory", "off", "--out", str(run)]
        told = _rooftree([*words, "--json"], options)
        (run / "result.json").write_text(told, encoding="utf-8")
    if variants := metered(folder / "energy"):
        text = json.dumps(variants, indent=1) + "\n"
        (folder / _METERED).write_text(text, encoding="utf-8")
    second, first = (folder / each / "best" / "kernel.cu" for each in ("energy", "time"))
    words = ["evaluate", task, str(second), "--against", str(first), "--energy", *device, "--json"]
    told = json.loads(_rooftree(words, options))
    told["candidates"][0] |= {  # the folder may be anywhere
        "candidate": str(second.relative_to(folder)), "over": str(first.relative_to(folder))
    }  # fmt: skip
    (folder / _COMPARED).write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def _is_done(run: Path) -> bool:
    return (run / "result.json").is_file()


def _rooftree(words: Sequence[str], options: argparse.Namespace) -> str:
    """What the command prints. TimeIsUp if it had to be interrupted, WorldError if it fails."""
    command = [sys.executable, "-c", "from experiments.cli import main; raise SystemExit(main())"]
    left = options.until - time.monotonic()
    if left <= 0:
        raise TimeIsUp
    print(f"rooftree {' '.join(words)}", file=sys.stderr, flush=True)
    with subprocess.Popen(
        [*command, *words],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        start_new_session=True,
    ) as process:
        try:
            said, _ = process.communicate(timeout=None if left == float("inf") else left)
        except BaseException as error:
            process.send_signal(signal.SIGINT)
            try:
                process.communicate(timeout=_GRACE_S)
            except subprocess.TimeoutExpired:
                process.kill()
            if isinstance(error, subprocess.TimeoutExpired):
                raise TimeIsUp from None
            raise
    if process.returncode:
        raise WorldError(f"rooftree {words[0]} {words[1]} failed: see above")
    return said


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.benchmarks.evidence.energy_searches"
    )
    parser.add_argument("tasks", nargs="*", metavar="TASK")
    parser.add_argument("--folder", type=Path, required=True, metavar="DIR")
    parser.add_argument("--evaluations", type=int, default=EVALUATIONS)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--device", type=int)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--show", action="store_true", help="print the table alone")
    options = parser.parse_args()
    allowed = float("inf") if options.minutes is None else 60 * options.minutes
    options.until = time.monotonic() + allowed
    if not options.show and not options.tasks:
        parser.error("name the tasks")
    return options


if __name__ == "__main__":
    sys.exit(main())
