"""What times of one GPU are worth on another: `python -m ...transfer FOLDER... [--seeds 30]`.

Each folder holds recordings of one kernel on several GPUs, as those of the public auto-tuning
benchmark hub do (`*_T4.json.gz`). Prints, by target, how many evaluations it takes until a variant
is within `--within` of the best recorded time: from nothing (`cold`: the tree search with the
scripted proposer, as `rooftree optimize` has it), with the times of each other GPU, and with those
of all others. Geometric means over seeds; a run that does not get there counts as one evaluation
more than it had. A last table has the ratios of warm over cold, and how many of them harm.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from codegen.scripted.proposer import ScriptedProposer
from experiments.benchmarks.studies.recorded_task import recorded_task
from experiments.runs.wiring.parts import transfer_proposer
from mcts.domain.tunables import configuration_key
from mcts.errors import InputError
from mcts.requests import ProposerRequest

PATTERN = "*_T4.json.gz"
COLD, ALL = "cold", "all others"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One search: on which recording, knowing which others, for how long."""

    target: Path
    known: tuple[Path, ...]
    seed: int
    budget: int
    within: float


def evaluations(run: Run) -> int:
    """Evaluations, the baseline's included, until a variant was near the best; one more than the
    budget if none was.
    """
    recorded = recorded_task(str(run.target))
    recording = recorded.recording
    times = {
        each.key: each.time_us for each in recording.configurations if each.time_us is not None
    }
    goal = min(times.values()) * (1 + run.within)
    request = ProposerRequest(task=recorded.task, tunables_only=True, prior=run.known)
    proposer = transfer_proposer(request) if run.known else ScriptedProposer()
    result = recorded.search(proposer, evaluations=run.budget, seed=run.seed)
    seen: set[str] = set()
    for node in result.nodes:
        if node.candidate is None or node.candidate.id in seen:
            continue
        seen.add(node.candidate.id)
        time_us = times.get(configuration_key(node.candidate.tunables))
        if time_us is not None and time_us <= goal:
            return len(seen)
    return run.budget + 1


def matrix(
    folder: Path, *, seeds: int, budget: int, within: float, jobs: int
) -> dict[str, dict[str, float]]:
    """By target, what it takes from nothing, from each other GPU, and from all others.

    InputError for a folder with fewer than two recordings.
    """
    files = {path.name.removesuffix("_T4.json.gz"): path for path in sorted(folder.glob(PATTERN))}
    files = {name: path for name, path in files.items() if "original" not in name}
    if len(files) < 2:
        raise InputError(f"{folder} holds no recordings of several GPUs ({PATTERN})")
    asked: dict[tuple[str, str], tuple[Path, ...]] = {}
    for target in files:
        others = {name: path for name, path in files.items() if name != target}
        asked[target, COLD] = ()
        asked |= {(target, name): (path,) for name, path in others.items()}
        asked[target, ALL] = tuple(others.values())
    runs = [
        Run(target=files[target], known=known, seed=seed, budget=budget, within=within)
        for (target, _), known in asked.items()
        for seed in range(seeds)
    ]
    with ProcessPoolExecutor(jobs) as pool:
        counts = list(pool.map(evaluations, runs, chunksize=max(1, seeds // 2)))
    found: dict[str, dict[str, float]] = {}
    for at, (target, source) in enumerate(asked):
        of_pair = counts[at * seeds : (at + 1) * seeds]
        found.setdefault(target, {})[source] = _mean(of_pair)
    return found


def show(found: dict[str, dict[str, float]]) -> None:
    """Print the matrix, and what it comes to, as Markdown."""
    names = list(found)
    columns = [COLD, *names, ALL]
    print(f"| on | {' | '.join(columns)} |\n| --- |{' ---: |' * len(columns)}")
    for target, counts in found.items():
        cells = [f"{counts[name]:.1f}" if name in counts else "" for name in columns]
        print(f"| {target} | {' | '.join(cells)} |")
    ratios = [
        counts[name] / counts[COLD] for counts in found.values() for name in names if name in counts
    ]
    together = [counts[ALL] / counts[COLD] for counts in found.values()]
    print(
        f"\nfrom one other GPU: {_mean(ratios):.2f} times the evaluations (geometric mean of "
        f"{len(ratios)} pairs, {sum(ratio > 1 for ratio in ratios)} take more); from all others: "
        f"{_mean(together):.2f} times ({sum(ratio > 1 for ratio in together)} of {len(together)} "
        "take more)"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the matrices of the folders."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--budget", type=int, default=60)
    parser.add_argument("--within", type=float, default=0.02)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args(arguments)
    for folder in given.folders:
        print(f"\n{folder.name}: evaluations to within {given.within:.0%}, {given.seeds} seeds\n")
        found = matrix(
            folder, seeds=given.seeds, budget=given.budget, within=given.within, jobs=given.jobs
        )
        show(found)


def _mean(values: Sequence[float]) -> float:
    return math.exp(fmean(map(math.log, values)))


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"error: {error}")
