"""What the values of a variant are worth: counted by measurements that nothing was chosen by."""

from __future__ import annotations

import json
from pathlib import Path

from experiments.benchmarks.evidence.tuned_values import table, tune
from mcts.domain import Candidate, Evaluation
from mcts.testing.toy import ToyEvaluator
from tests.codegen.cases import problem_task
from tests.codegen.test_tuning import MODEL, speedup_of
from tests.support.evaluations import measured

TASK = problem_task()


class Judge(ToyEvaluator):
    """Knows what each variant is worth; the first look at a variant is too good by half."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def evaluate(self, candidate: Candidate) -> Evaluation:
        lucky = 1.5 if candidate.id not in self.seen else 1.0
        self.seen.add(candidate.id)
        return measured(lucky * speedup_of(candidate, TASK))


def test_the_gain_is_of_second_measurements(tmp_path: Path) -> None:
    first = Candidate(source=MODEL)
    found = tune(TASK, Judge(), first, values=20)
    assert found is not None and found["size"] == 45
    assert found["best"]["speedup"] == 6.0 and found["kept"]["speedup"] == 4.0
    line = {"variant": "run:1", "task": "p", "found": found}
    bare = {"variant": "run:2", "task": "p", "found": None}
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(one) + "\n" for one in (line, bare)))
    gain = 4.0 / speedup_of(first, TASK)
    shown = list(table(tmp_path / "t.jsonl"))
    assert shown[0].startswith("run:1") and f"gain {gain:.3f}" in shown[0]
    assert "1 of 2 variants have other values" in shown[1] and f"{gain:.3f}" in shown[1]


def test_a_variant_without_other_values_is_left_out() -> None:
    assert tune(TASK, Judge(), Candidate(source="import torch\n"), values=20) is None
