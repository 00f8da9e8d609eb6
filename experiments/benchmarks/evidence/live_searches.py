"""How close do live searches of the bundled tasks come to the best recorded variant?

    python -m experiments.benchmarks.evidence.live_searches [TASK...] --out FILE [--minutes M]

Runs `rooftree optimize TASK --evaluations 40` with several seeds of each task, one search after the
other, each in a process of its own, and prints a row for each task. FILE keeps a line for each
search; the same command goes on behind those it has, so that a GPU lent for minutes will do:
`--minutes` begins no search after so long. `--show` prints the table of what FILE has.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from experiments.runs.tasks.files import bundled, find_task
from mcts.errors import InputError, RooftreeError, WorldError
from profilers.recordings.t4 import load_recording

FIRST_SEED, SEEDS, EVALUATIONS = 1, 5, 40
CLOSE = 0.95
COLUMNS = (
    "task", "speedup found, median (least to greatest)", "best recorded", "share",
    f"within {1 - CLOSE:.0%}", "failed", "seconds", "profiling", "on",
)  # fmt: skip
_KEPT = (
    "task", "hardware", "speedup", "speedup_low", "speedup_high", "confirmed", "evaluations",
    "failed", "seconds", "tree_digest",
)  # fmt: skip

Search = dict[str, Any]


def main() -> int:
    options = _options()
    try:
        done = read(options.out)
        if not options.show:
            for search in _searches(options, done):
                done.append(search)
                with options.out.open("a", encoding="utf-8") as stream:
                    stream.write(json.dumps(search) + "\n")
        print("\n".join(table(done)))
    except RooftreeError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def read(path: Path) -> list[Search]:
    """The searches that a file has; none if there is no such file. InputError for another file."""
    if not path.is_file():
        return []
    try:
        found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        whole = all({"seed", *_KEPT} <= search.keys() for search in found)
    except (ValueError, AttributeError):
        whole = False
    if not whole:
        raise InputError(f"{path} holds no searches of this command")
    return found


def table(searches: Sequence[Search]) -> list[str]:
    """A row for each task, in Markdown."""
    lines = [_line(COLUMNS), _line(["---"] * len(COLUMNS))]
    for task in dict.fromkeys(search["task"] for search in searches):
        own = [search for search in searches if search["task"] == task]
        speedups = sorted(search["speedup"] for search in own)
        middle = statistics.median(speedups)
        best = load_recording(find_task(task).recordings[-1]).summary().best_speedup or 1.0
        close = sum(speedup >= CLOSE * best for speedup in speedups)
        lines.append(
            _line([
                task,
                f"{middle:.2f} ({speedups[0]:.2f} to {speedups[-1]:.2f})",
                f"{best:.2f}",
                f"{middle / best:.1%}",
                f"{close} of {len(own)}",
                f"{sum(search['failed'] for search in own)} of "
                f"{sum(search['evaluations'] for search in own)}",
                f"{statistics.median(search['seconds'] for search in own):.0f}",
                _profiling(own),
                ", ".join(dict.fromkeys(search["hardware"] for search in own)),
            ])
        )  # fmt: skip
    return lines


def _profiling(searches: Sequence[Search]) -> str:
    """The median share of a search's time that profiles took, of those that kept it."""
    shares = [
        search["stages_s"].get("profiling", 0.0) / search["seconds"]
        for search in searches
        if "stages_s" in search
    ]
    return f"{statistics.median(shares):.0%}" if shares else "n/a"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _searches(options: argparse.Namespace, done: Sequence[Search]) -> Iterator[Search]:
    """Those that are missing, seed by seed, so that all tasks have equally many."""
    known = {(search["task"], search["seed"]) for search in done}
    begin = time.monotonic()
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        for task in options.tasks or bundled():
            if (task, seed) in known:
                continue
            if options.minutes is not None and time.monotonic() - begin > 60 * options.minutes:
                print("the time is up; the same command goes on", file=sys.stderr)
                return
            print(f"{task}, seed {seed}", file=sys.stderr, flush=True)
            yield _search(options, task, seed)


def _search(options: argparse.Namespace, task: str, seed: int) -> Search:
    """One search by the command line. WorldError with its last words if it fails."""
    command = [
        sys.executable, "-c", "from experiments.cli import main; raise SystemExit(main())",
        "optimize", task, "--evaluator", options.evaluator, "--evaluations",
        str(options.evaluations), "--seed", str(seed), "--json",
    ]  # fmt: skip
    if options.device is not None:
        command += ["--device", str(options.device)]
    root = str(Path(__file__).parents[3])
    with tempfile.TemporaryDirectory(prefix="live_searches_") as folder:
        said = subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=folder, env=_with_path(root)
        )
    if said.returncode:
        last = said.stderr.strip().splitlines()[-1:] or ["no word"]
        raise WorldError(f"{task}, seed {seed}: {last[0]}")
    found = json.loads(said.stdout)
    return {"seed": seed, **{key: found[key] for key in _KEPT}, "stages_s": found["stages_s"]}


def _with_path(root: str) -> dict[str, str]:
    path = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{path}" if path else root}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m experiments.benchmarks.evidence.live_searches")
    parser.add_argument("tasks", nargs="*", metavar="TASK")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="a line a search")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--evaluations", type=int, default=EVALUATIONS)
    parser.add_argument("--evaluator", default="gpu")
    parser.add_argument("--device", type=int)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--show", action="store_true", help="print the table alone")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
