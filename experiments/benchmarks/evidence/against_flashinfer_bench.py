"""What do FlashInfer-Bench's evaluator and ours say of the same solutions?

    python -m experiments.benchmarks.evidence.against_flashinfer_bench DATASET

DATASET is a folder with `definitions`, `workloads` and `solutions`, such as
`examples/ffi/Example-FlashInfer-Trace` of https://github.com/flashinfer-ai/flashinfer-bench. Its
first workloads are given to the benchmark's own command (`pip install flashinfer-bench`) with its
defaults, in a copy of the folder, and then to ours, on one GPU. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.runs.machines.machine import gpu_problem
from experiments.runs.tasks.definition_problems import named_workloads, problem_name, problem_text
from experiments.runs.tasks.definitions import (
    Definition,
    TraceWorkload,
    read_definition,
    read_workloads,
    workloads_of,
)
from experiments.runs.tasks.files import find_task
from experiments.runs.tasks.solutions import Solution, candidate_text, read_solution
from experiments.runs.wiring.parts import gpu_evaluator
from mcts.domain import Candidate
from mcts.errors import InputError, RooftreeError, WorldError
from mcts.formats import parse_json
from mcts.options import JudgingOptions
from mcts.requests import EvaluatorRequest

_COMMAND = "from flashinfer_bench.cli.main import cli; cli()"
_THEIR_S = 900


@dataclass(frozen=True, slots=True)
class Opinion:
    """What an evaluator says: its word, the time of a call, the speedup over the reference."""

    status: str
    us: float | None = None
    speedup: float | None = None
    interval: tuple[float, float] | None = None

    def __str__(self) -> str:
        if self.us is None or self.speedup is None:
            return self.status
        within = "" if self.interval is None else " ({:.2f} to {:.2f})".format(*self.interval)
        return f"{self.speedup:.2f}x{within}, {self.us:.1f} us"


@dataclass(frozen=True, slots=True)
class Problem:
    """A definition with those of its workloads that are judged, by name, and its solutions."""

    definition: Definition
    workloads: Mapping[str, TraceWorkload]
    solutions: Sequence[Solution]


def copy_dataset(dataset: Path, target: Path, *, most: int) -> list[Problem]:
    """Copy all that has solutions, with the first `most` workloads of each definition.

    InputError if nothing has, or a file is not what it should be.
    """
    dataset = dataset.absolute()
    solutions = [read_solution(path) for path in sorted((dataset / "solutions").rglob("*.json"))]
    problems = []
    for path in sorted((dataset / "definitions").rglob("*.json")):
        definition = read_definition(path)
        given = [each for each in solutions if each.definition == definition.name]
        if not given:
            continue
        file = workloads_of(path)
        chosen = read_workloads(file, definition)[:most]
        problems.append(Problem(definition, named_workloads(definition, chosen), given))
        wanted = {each.uuid for each in chosen}
        lines = file.read_text(encoding="utf-8").splitlines()
        kept = [line for line in lines if line and parse_json(line)["workload"]["uuid"] in wanted]
        _write(target / path.relative_to(dataset), path.read_text(encoding="utf-8"))
        _write(target / file.relative_to(dataset), "".join(f"{line}\n" for line in kept))
    if not problems:
        raise InputError(f"{dataset} has no definition with a solution")
    shutil.copytree(dataset / "solutions", target / "solutions")
    return problems


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def by_flashinfer_bench(dataset: Path, *, device: int) -> dict[tuple[str, str], Opinion]:
    """What the benchmark's own command says, by workload and solution. WorldError if it fails."""
    words = [sys.executable, "-c", _COMMAND, "run", "--local", str(dataset)]
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": str(device)}
    try:
        done = subprocess.run(
            words, env=environment, capture_output=True, text=True, timeout=_THEIR_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise WorldError(f"flashinfer-bench took more than {_THEIR_S} s") from None
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        raise WorldError(f"flashinfer-bench failed: {' '.join(last)}")
    return {
        (trace["workload"]["uuid"], trace["solution"]): _their_opinion(trace["evaluation"])
        for path in sorted((dataset / "traces").rglob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if (trace := parse_json(line)).get("evaluation") is not None
    }


def _their_opinion(evaluation: Mapping[str, Any]) -> Opinion:
    told = evaluation.get("performance")
    if told is None:
        return Opinion(str(evaluation["status"]))
    us = 1000 * float(told["latency_ms"])
    return Opinion(str(evaluation["status"]), us, float(told["speedup_factor"]))


def by_us(
    problem: Problem, name: str, workload: TraceWorkload, *, root: Path, device: int
) -> Iterator[tuple[str, Opinion]]:
    """Our opinion on each solution for a workload."""
    text = problem_text(problem.definition, {name: workload}, root=root)
    with tempfile.TemporaryDirectory(prefix="rooftree-") as folder:
        file = Path(folder) / f"{problem_name(problem.definition, name)}.py"
        file.write_text(text, encoding="utf-8")
        task = find_task(str(file)).task
        judging = JudgingOptions(device=device)
        request = EvaluatorRequest(task=task, judging=judging, on_progress=_say)
        with closing(gpu_evaluator(request)) as judge:
            for solution in problem.solutions:
                _say(f"judging {solution.name} on {name}")
                try:
                    candidate = Candidate(source=candidate_text(solution, text))
                except InputError as error:
                    yield solution.name, Opinion(f"not judged: {error}")
                    continue
                found = judge.evaluate(candidate)
                timing = found.timing if found.measured else None
                if timing is None:
                    yield solution.name, Opinion(f"{found.status}: {found.message}")
                    continue
                interval = (timing.speedup_low, timing.speedup_high)
                yield (
                    solution.name,
                    Opinion(found.status, timing.median_us, timing.speedup, interval),
                )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _compare(options: argparse.Namespace) -> None:
    if problem := gpu_problem(options.device, torch=True):
        raise InputError(f"this comparison needs a GPU: {problem}")
    with tempfile.TemporaryDirectory(prefix="flashinfer-bench-") as folder:
        problems = copy_dataset(options.dataset, Path(folder), most=options.workloads)
        _say("asking flashinfer-bench")
        theirs = by_flashinfer_bench(Path(folder), device=options.device)
    print("| solution | workload | FlashInfer-Bench | ours |\n| --- | --- | --- | --- |")
    for each in problems:
        for name, workload in each.workloads.items():
            ours = by_us(each, name, workload, root=options.dataset, device=options.device)
            for solution, found in ours:
                told = theirs.get((workload.uuid, solution), Opinion("not told"))
                print(f"| {solution} | {name} | {_cell(told)} | {_cell(found)} |", flush=True)


def _cell(opinion: Opinion) -> str:
    return " ".join(str(opinion).split()).replace("|", "/")[:200]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.benchmarks.evidence.against_flashinfer_bench"
    )
    parser.add_argument("dataset", type=Path, metavar="DATASET")
    parser.add_argument("--workloads", type=int, default=3, metavar="N", help="of each: 3")
    parser.add_argument("--device", type=int, default=0)
    options = parser.parse_args()
    try:
        _compare(options)
    except RooftreeError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
