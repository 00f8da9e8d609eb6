"""What came of the study of before and after (docs/model-studies.md, I).

    python -m experiments.benchmarks.evidence.before_and_after [FOLDER] [--trials N]
    python -m experiments.benchmarks.evidence.before_and_after FOLDER --collect STUDY --arm ARM

FOLDER has a folder for each arm: `trials.jsonl`, a line for each trial of its searches, which
`--collect` writes from the folder of the study; `winners.jsonl` and `winners_compiled.jsonl`,
the verdicts on the winners over eager and over torch.compile (`rooftree evaluate KernelBench
--suite`, `--results`). Printed are the best so far by what the searches measured, the winners, and
what both arms cost in their first N trials, which no problem may lack unless its search had ended.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sqlite3
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.benchmarks.studies.statistics import hierarchical, holm, signed_rank
from experiments.runs.folders.journal import read_events
from experiments.views.summary import result_of
from mcts.domain import Candidate
from mcts.errors import InputError
from mcts.files import write_whole
from mcts.formats import parse_json
from mcts.search.seeding import seed_from

FOLDER = Path(__file__).parent / "model_studies" / "sharper"
BEFORE, AFTER = "before", "after"
TRIALS_FILE = "trials.jsonl"
WINNERS_FILES = {"eager": "winners.jsonl", "torch.compile": "winners_compiled.jsonl"}
_PLAN = 80
_NUMBER = re.compile(r"^(\d+)_")


@dataclass(frozen=True, slots=True)
class Trial:
    """A trial of a search: `number` from 1 in the order in which they were begun.

    speedup: over eager as the search measured it; None if it failed. asked, replied: characters of
    its question and of the reply; None if no kept reply has its code. gpu_s: judging and profiling.
    """

    problem: int
    number: int
    status: str
    speedup: float | None
    name: str
    asked: int | None
    replied: int | None
    gpu_s: float


def collect(study: Path, arm: str) -> list[Trial]:
    """The trials of all runs in a study's folder. InputError if it has none of this arm."""
    runs = study / "runs" / arm
    if not runs.is_dir():
        raise InputError(f"{study} has no runs of an arm {arm}")
    answers = _answers(study / "answers.sqlite")
    seconds = _seconds(study / "measurements.sqlite")
    return [
        trial
        for run in sorted(runs.iterdir(), key=lambda each: _number(each.name))
        for trial in _trials_of(run, answers, seconds)
    ]


def _trials_of(
    run: Path, answers: Sequence[tuple[int, str]], seconds: Mapping[str, float]
) -> list[Trial]:
    found: list[Trial] = []
    for node in result_of(read_events(run)).nodes:
        if node.parent is None or node.candidate is None or node.evaluation is None:
            continue
        asked, replied = _lengths(node.candidate, answers)
        found.append(
            Trial(
                problem=_number(run.name),
                number=len(found) + 1,
                status=node.evaluation.status,
                speedup=None if node.speedup is None else round(node.speedup, 4),
                name=node.candidate.name or "",
                asked=asked,
                replied=replied,
                gpu_s=round(seconds.get(node.candidate.id, 0.0), 2),
            )
        )
    return found


def _lengths(
    candidate: Candidate, answers: Sequence[tuple[int, str]]
) -> tuple[int | None, int | None]:
    """Of the question and the reply that gave this code: it stands there whole, or its plan does,
    where the reply has edits."""
    source, plan = candidate.source.strip(), _letters(candidate.rationale)[:_PLAN]
    whole = [(asked, len(text)) for asked, text in answers if source in text]
    edits = [(asked, len(text)) for asked, text in answers if plan and plan in _letters(text)]
    return next(iter(whole or edits), (None, None))


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def _number(name: str) -> int:
    found = _NUMBER.match(name)
    if found is None:
        raise InputError(f"{name} is no run of a KernelBench problem")
    return int(found[1])


def _answers(store: Path) -> list[tuple[int, str]]:
    """Of each answer how long the question's words are, and the reply."""
    return [
        (sum(len(said["content"]) for said in parse_json(request)["messages"]),
         str(parse_json(reply)["text"]))
        for request, reply in _rows(store, "SELECT request, reply FROM answer")
    ]  # fmt: skip


def _seconds(store: Path) -> dict[str, float]:
    asked = "SELECT candidate, SUM(seconds) FROM measurement GROUP BY candidate"
    return {str(candidate): float(total) for candidate, total in _rows(store, asked)}


def _rows(store: Path, asked: str) -> list[tuple[Any, ...]]:
    if not store.is_file():
        raise InputError(f"{store} is missing: is its folder a study's?")
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as connection:
        return connection.execute(asked).fetchall()


def read_trials(folder: Path) -> dict[int, list[Trial]]:
    """By problem, those that `collect` found. InputError if they are missing."""
    found: dict[int, list[Trial]] = defaultdict(list)
    for row in _lines(folder / TRIALS_FILE):
        found[row["problem"]].append(Trial(**row))
    return dict(found)


def _lines(path: Path) -> list[Any]:
    if not path.is_file():
        raise InputError(f"{path} is missing")
    return [parse_json(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def best_after(trials: Sequence[Trial], count: int) -> float:
    """The best speedup among the first trials; 1 where there is none: its user keeps the model."""
    return max((each.speedup for each in trials[:count] if each.speedup), default=1.0)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A winner's speedup with its interval, or why it has none."""

    status: str
    speedup: float | None = None
    low: float | None = None
    high: float | None = None


def read_winners(path: Path) -> dict[int, Verdict]:
    """By problem, the fastest right one of what was judged; else the first one's status."""
    found: dict[int, Verdict] = {}
    for line in _lines(path):
        row = line["row"]
        number = int(str(row["problem"]).split("_")[-1])
        speedup = row["speedup"] if row["status"] == "measured" else None
        verdict = Verdict(row["status"], speedup, row.get("speedup_low"), row.get("speedup_high"))
        known = found.get(number)
        if known is None or (speedup or 0.0) > (known.speedup or 0.0):
            found[number] = verdict
    return found


@dataclass(frozen=True, slots=True)
class Comparison:
    """`after` over `before` by geometric mean over problems, with its 95 % interval and p."""

    after: float
    before: float
    ratio: float
    low: float
    high: float
    p: float


def compared(after: Sequence[float], before: Sequence[float], *, label: str) -> Comparison:
    """Speedups of both, in pairs by problem; the interval is by a bootstrap of problems."""
    logs = np.log(np.array(after) / np.array(before))
    mean = hierarchical([np.array([each]) for each in logs], seed=seed_from("sharper", label))
    return Comparison(
        after=_geometric(after),
        before=_geometric(before),
        ratio=math.exp(mean.mean),
        low=math.exp(mean.low),
        high=math.exp(mean.high),
        p=signed_rank(logs).p,
    )


def _geometric(values: Sequence[float]) -> float:
    return math.exp(float(np.mean(np.log(values))))


def _show(folder: Path, trials: int) -> None:
    arms = {arm: read_trials(folder / arm) for arm in (BEFORE, AFTER)}
    problems = sorted(arms[BEFORE])
    if problems != sorted(arms[AFTER]):
        raise InputError("the arms have different problems")
    winners = {
        (arm, over): read_winners(folder / arm / file)
        for arm in arms
        for over, file in WINNERS_FILES.items()
        if (folder / arm / file).is_file()
    }
    _show_problems(problems, arms, winners, trials)
    rows = {
        f"best of {count}, as the searches measured it": tuple(
            [best_after(arms[arm][each], count) for each in problems] for arm in (AFTER, BEFORE)
        )
        for count in (1, 2, 4, 6, 8, 12)
        if count <= trials
    }
    for over in WINNERS_FILES:
        if all((arm, over) in winners for arm in arms):
            rows[f"winners, over {over}"] = tuple(
                [_speedup(winners[arm, over], each) for each in problems] for arm in (AFTER, BEFORE)
            )
    found = [compared(*both, label=label) for label, both in rows.items()]
    print("\n| | after | before | after / before (95 %) | p | after Holm |")
    print("| --- | --- | --- | --- | --- | --- |")
    for label, one, corrected in zip(rows, found, holm([one.p for one in found]), strict=True):
        print(
            f"| {label} | {one.after:.2f} | {one.before:.2f} | "
            f"{one.ratio:.2f} ({one.low:.2f} to {one.high:.2f}) | {one.p:.3f} | {corrected:.3f} |"
        )
    _show_costs(arms, trials)


def _speedup(winners: Mapping[int, Verdict], problem: int) -> float:
    verdict = winners.get(problem)
    return 1.0 if verdict is None or verdict.speedup is None else verdict.speedup


def _show_problems(
    problems: Sequence[int],
    arms: Mapping[str, Mapping[int, Sequence[Trial]]],
    winners: Mapping[tuple[str, str], Mapping[int, Verdict]],
    trials: int,
) -> None:
    over = [
        name for name in WINNERS_FILES if (BEFORE, name) in winners and (AFTER, name) in winners
    ]
    heads = ["problem", *(f"{arm}, best of {trials}" for arm in (AFTER, BEFORE))]
    heads += [f"{arm}, over {name}" for name in over for arm in (AFTER, BEFORE)]
    print("| " + " | ".join(heads) + " |\n|" + " --- |" * len(heads))
    for problem in problems:
        cells = [str(problem)]
        for arm in (AFTER, BEFORE):
            made = arms[arm][problem][:trials]
            ended = f" (ended after {len(made)})" if len(made) < trials else ""
            cells.append(f"{best_after(made, trials):.2f}{ended}")
        cells += [_cell(winners[arm, n].get(problem)) for n in over for arm in (AFTER, BEFORE)]
        print("| " + " | ".join(cells) + " |")


def _cell(verdict: Verdict | None) -> str:
    if verdict is None:
        return "not judged"
    if verdict.speedup is None:
        return verdict.status
    if verdict.low is None or verdict.high is None:
        return f"{verdict.speedup:.2f}"
    return f"{verdict.speedup:.2f} ({verdict.low:.2f} to {verdict.high:.2f})"


def _show_costs(arms: Mapping[str, Mapping[int, Sequence[Trial]]], trials: int) -> None:
    print("\n| arm | trials | failed | asked, characters | replied, characters | GPU, s |")
    print("| --- | --- | --- | --- | --- | --- |")
    for arm in (AFTER, BEFORE):
        made = [each for found in arms[arm].values() for each in found[:trials]]
        failed = sum(each.speedup is None for each in made)
        asked = sum(each.asked or 0 for each in made)
        replied = sum(each.replied or 0 for each in made)
        seconds = sum(each.gpu_s for each in made)
        print(f"| {arm} | {len(made)} | {failed} | {asked:,} | {replied:,} | {seconds:.0f} |")


def main() -> int:
    options = _options()
    try:
        if options.collect is not None:
            rows = collect(options.collect, options.arm)
            target = options.folder / options.arm
            target.mkdir(parents=True, exist_ok=True)
            text = "".join(json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in rows)
            write_whole(target / TRIALS_FILE, text)
            print(f"{len(rows)} trials of {options.arm} in {target / TRIALS_FILE}")
        else:
            _show(options.folder, options.trials)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.benchmarks.evidence.before_and_after"
    )
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER, metavar="FOLDER")
    parser.add_argument("--trials", type=int, default=8, metavar="N", help="of each search: 8")
    parser.add_argument("--collect", type=Path, metavar="STUDY", help="a study's folder")
    parser.add_argument("--arm", choices=(BEFORE, AFTER), default=AFTER, help="with --collect")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
