"""Rows of training sets from replies made by hand: what is compared, and what is not."""

from __future__ import annotations

import json

import pytest

from experiments.training.judged import JudgedReply
from experiments.training.sets import contrastive, every_reply, groups, preferences, supervised
from mcts.domain import Evaluation, Verification
from tests.support.evaluations import measured


def reply(
    name: str,
    found: Evaluation | float,
    *,
    gpu: str = "A",
    over: str = "eager",
    parent: str = "p",
    task: str = "t",
) -> JudgedReply:
    evaluation = measured(found) if isinstance(found, float) else found
    if evaluation.timing is not None:
        timing = evaluation.timing.model_copy(update={"baseline": over})
        evaluation = evaluation.model_copy(update={"timing": timing})
    before = measured(1.0)
    assert before.timing is not None
    return JudgedReply(
        id=f"reply-{abs(hash((name, gpu, over))):016x}"[:22],
        task=task, task_id=task, family="scan", dialect="cuda", hardware=gpu, model="m",
        parent=parent, candidate=name, code=f"code of {name}", values={"BLOCK": 64},
        prompt=({"role": "system", "content": "s"},
                {"role": "user", "content": "# Task: t\n\nIt.\n\n# The variant\n\nold"}),
        reply=f"text of {name}", evaluation=evaluation,
        parent_evaluation=before.model_copy(
            update={"timing": before.timing.model_copy(update={"baseline": over})}
        ),
        run="r", trial=1,
    )  # fmt: skip


WRONG = Evaluation(
    candidate_id="c", status="wrong_result", message="off",
    verification=Verification(passed=False, rounds=1),
)  # fmt: skip


def test_a_pair_is_of_one_parent_gpu_and_baseline_and_differs_for_sure() -> None:
    fast, slow, near = reply("fast", 3.0), reply("slow", 1.5), reply("near", 3.01)
    wrong = reply("wrong", WRONG)
    rows = list(preferences([slow, fast, near, wrong]))
    pairs = {(row["candidate"], row["rejected_verdict"], row["rejected_speedup"]) for row in rows}
    assert pairs == {
        ("fast", "measured", 1.5),
        ("near", "measured", 1.5),
        ("fast", "wrong_result", None),
        ("near", "wrong_result", None),
        ("slow", "wrong_result", None),
    }
    assert all(row["chosen"][0]["content"] == f"text of {row['candidate']}" for row in rows)
    for other in (
        reply("slow", 1.5, gpu="B"),
        reply("slow", 1.5, over="compile"),
        reply("slow", 1.5, parent="q"),
        reply("slow", 1.5, task="u"),
    ):
        assert list(preferences([fast, other])) == []
        assert list(groups([fast, other])) == []


def test_a_group_has_its_failures_and_each_candidate_once() -> None:
    (row,) = groups([reply("a", 2.0), reply("a", 2.0), reply("b", WRONG), reply("c", 4.0)])
    assert row["verdicts"] == ["measured", "wrong_result", "measured"]
    assert row["rewards"]["levels"] == [2, -1, 2]
    assert row["rewards"]["smoothed"][1] == -1.5 < row["rewards"]["smoothed"][0]
    assert row["same_prompt"] is True and row["over"] == "eager"
    assert list(groups([reply("a", 2.0)])) == []


def test_contrasts_are_of_one_gpu_and_baseline_and_have_no_completion() -> None:
    of_a = [reply(name, speed) for name, speed in (("a", 1.5), ("b", 3.0), ("c", 9.0))]
    elsewhere = [reply("d", 30.0, gpu="B"), reply("e", 40.0, over="compile")]
    rows = list(contrastive([*of_a, *elsewhere, reply("f", WRONG)]))
    assert len(rows) == 3
    for row in rows:
        assert row["speedups"][0] < row["speedups"][1] <= row["best_speedup"] == 9.0
        assert row["hardware"] == "A" and "completion" not in row
        text = row["prompt"][-1]["content"]
        assert "# Task: t" in text and "old" not in text
        assert f"{row['speedups'][0]:.2f} times as fast" in text and "code of" in text


def test_rows_say_code_values_and_verdict() -> None:
    right, wrong = every_reply([reply("a", 2.0), reply("b", WRONG)])
    assert right["code"] == "code of a" and json.loads(right["values"]) == {"BLOCK": 64}
    assert right["speedup_low"] == pytest.approx(1.98) and right["parent_speedup"] == 1
    assert wrong["verdict"] == "wrong_result" and wrong["speedup"] is None
    assert wrong["reward_levels"] == wrong["reward_lower_bound"] == -1 and wrong["over"] == "eager"
    assert [row["id"] for row in supervised([reply("a", 2.0), reply("b", WRONG)])] == [right["id"]]
