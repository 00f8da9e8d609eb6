"""What are the values of a variant's tunables worth, once a model has written it?

    python -m experiments.benchmarks.evidence.tuned_values RUN... --values 12 -o tuned.jsonl
    python -m experiments.benchmarks.evidence.tuned_values --show tuned.jsonl

Judges every measured variant of the runs anew, then up to so many other combinations of its values,
as `--tune` chooses them, and the best of them once more beside the variant's own. What is in the
file already is not measured again; `--show` prints what was found, without a GPU.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from codegen.dialects import writing_of
from codegen.tuning import retuned
from experiments.runs.folders.folder import RunFolder
from experiments.runs.folders.journal import read_events
from experiments.runs.wiring.composing import choose_evaluator
from mcts.domain import Candidate, Evaluation, KernelTask
from mcts.errors import RooftreeError
from mcts.journal.record import read_result
from mcts.options import JudgingOptions
from mcts.ports import Attempt, Evaluator


def tune(
    task: KernelTask, judge: Evaluator, candidate: Candidate, *, values: int
) -> dict[str, Any] | None:
    """The variant and what was timed beside it; None if it declares no values or fails here.

    `own` and `again` are two measurements of the variant, `best` and `kept` two of the fastest of
    all: the second ones were not chosen by, so that their ratio is no winner's curse.
    """
    size = writing_of(task.dialect).space_of(candidate, task).size
    if size <= 1:
        return None
    begin = time.monotonic()
    judged = [Attempt(candidate=candidate, evaluation=judge.evaluate(candidate))]
    if _speedup(judged[0]) is None:
        return None
    while len(judged) <= values:
        more = retuned(task, judged, best_speedup=0.0, seed=len(judged))
        if more is None:
            break
        judged.append(Attempt(candidate=more, evaluation=judge.evaluate(more)))
    fastest = max(judged, key=lambda one: _speedup(one) or 0.0)
    again = _line(judge.evaluate(candidate))
    kept = again if fastest is judged[0] else _line(judge.evaluate(_code(fastest)))
    return {
        "size": size,
        "timed": len(judged) - 1,
        "failed": sum(_speedup(one) is None for one in judged),
        "own": _line(judged[0].evaluation),
        "again": again,
        "best": _line(fastest.evaluation),
        "kept": kept,
        "speedups": [_speedup(one) for one in judged],
        "seconds": round(time.monotonic() - begin, 1),
    }


def _code(attempt: Attempt) -> Candidate:
    assert attempt.candidate is not None, "only candidates are judged"
    return attempt.candidate


def _speedup(attempt: Attempt) -> float | None:
    return attempt.evaluation.speedup if attempt.evaluation else None


def _line(evaluation: Evaluation | None) -> dict[str, float] | None:
    timing = evaluation.timing if evaluation is not None else None
    if timing is None or evaluation is None or evaluation.speedup is None:
        return None
    return {
        "us": round(timing.median_us, 3),
        "low_us": round(timing.low_us, 3),
        "high_us": round(timing.high_us, 3),
        "speedup": round(evaluation.speedup, 4),
    }


def measured(runs: Sequence[Path], *, values: int, device: int, known: set[str]) -> Iterator[str]:
    """A line of JSON for each variant that is not `known`, as it is measured."""
    for path in runs:
        folder = RunFolder(path)
        config = folder.config
        source = folder.task(config)
        nodes = [
            node
            for node in read_result(read_events(path)).nodes[1:]
            if node.candidate is not None and node.evaluation and node.evaluation.measured
        ]
        left = [node for node in nodes if f"{path.name}:{node.id}" not in known]
        if not left:
            continue
        judging = JudgingOptions(
            evaluator="gpu", device=device, policy=config.judging.policy,
            dialect=config.judging.dialect,
        )  # fmt: skip
        with closing(choose_evaluator(source, judging, on_progress=_say)) as judge:
            for node in left:
                assert node.candidate is not None, "it was measured"
                found = tune(source.task, judge, node.candidate, values=values)
                name = f"{path.name}:{node.id}"
                _say(f"{name}: {_words(found)}")
                yield json.dumps({"variant": name, "task": source.task.name, "found": found})


def _gain(found: dict[str, Any]) -> float:
    """Of the values kept over the variant's own, both by their second measurement."""
    if not found["again"] or not found["kept"]:
        return 1.0
    return float(found["again"]["us"] / found["kept"]["us"])


def _words(found: dict[str, Any] | None) -> str:
    if found is None:
        return "declares no other values, or fails here"
    own = found["own"]["speedup"]
    return (
        f"{own:.2f}x, {found['timed']} of {found['size'] - 1} other values timed, "
        f"gain {_gain(found):.3f}, {found['seconds']:.0f} s"
    )


def table(path: Path) -> Iterator[str]:
    """What a file holds, in lines for a terminal."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    tuned = [line for line in lines if line["found"] is not None]
    for line in tuned:
        yield f"{line['variant']:<16} {_words(line['found'])}"
    gains = [_gain(line["found"]) for line in tuned]
    timed = sum(line["found"]["timed"] for line in tuned)
    yield (
        f"{len(tuned)} of {len(lines)} variants have other values; geometric mean of the gain "
        f"{_mean(gains):.3f}; above 1.05 in {sum(gain > 1.05 for gain in gains)}; "
        f"{timed} values timed"
    )
    best: dict[str, tuple[float, float]] = {}
    for line in lines:
        found = line["found"]
        if found is not None:
            own, gain = found["own"]["speedup"], _gain(found)
            before = best.get(line["task"], (0.0, 0.0))
            best[line["task"]] = max(before[0], own), max(before[1], own * gain)
    ratios = [after / own for own, after in best.values()]
    yield (
        f"the best of each of {len(ratios)} problems, of those with values: "
        f"{_mean(ratios):.3f} times as fast"
    )


def _mean(values: Sequence[float]) -> float:
    """The geometric mean; 1 of none."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else 1.0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.benchmarks.evidence.tuned_values", description=__doc__
    )
    parser.add_argument("runs", nargs="*", type=Path, metavar="RUN")
    parser.add_argument("--values", type=int, default=12)
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("-o", "--out", type=Path, default=Path("tuned.jsonl"))
    parser.add_argument("--show", type=Path, metavar="FILE")
    given = parser.parse_args()
    try:
        if given.show is not None:
            print("\n".join(table(given.show)))
            return 0
        held = given.out.read_text(encoding="utf-8").splitlines() if given.out.exists() else []
        known = {json.loads(line)["variant"] for line in held}
        with given.out.open("a", encoding="utf-8") as out:
            for line in measured(given.runs, values=given.values, device=given.device, known=known):
                out.write(line + "\n")
                out.flush()
    except RooftreeError as error:
        _say(f"error: {error}")
        return 2
    except KeyboardInterrupt:
        _say(f"interrupted; {given.out} keeps what was measured, the same command goes on")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
