"""One-step studies: nothing asked or measured twice, replayed to the digit, compared in pairs."""

from __future__ import annotations

import json
import random
import shutil
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from codegen.chat.queue import waiting
from experiments.benchmarks.evidence.parent_draw import draw
from experiments.benchmarks.one_step.comparing import compare_steps
from experiments.benchmarks.one_step.config import OneStepStudy, run_and_node
from experiments.benchmarks.one_step.folder import OneStepPlan, steps_of
from experiments.benchmarks.one_step.parents import Parent, find_parents
from experiments.benchmarks.one_step.step import Laboratory, StepResult
from experiments.runs.folders.journal import read_events
from mcts.domain import Candidate
from mcts.errors import WorldError
from mcts.journal.record import read_result
from mcts.options import ModelOptions
from tests.experiments.conftest import TASK_TOML, write_task
from tests.support import formula_gpu
from tests.support.commands import completed, failed, rooftree
from tests.support.file_answers import answer_all
from tests.support.openai_server import AutoModel

STUDY = """
kind = "one_step"
parents = ["run"]
reference = "tools"
evaluator = "formula-gpu"

[model]
name = "queue/person"
reply_repairs = 0

[arms.tools]

[arms.none]
feedback = "none"
"""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of what is measured."""
    return formula_gpu.install(monkeypatch)


@pytest.fixture
def study(
    toy_folder: Path, tmp_path: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A study's file beside the run that has its parents."""
    monkeypatch.chdir(tmp_path)
    completed(
        "optimize", toy_folder, "--evaluator", "formula-gpu", "--evaluations", 4,
        "--out", tmp_path / "run", "--memory", "off", "--finalists", 0,
    )  # fmt: skip
    asked.clear()
    file = tmp_path / "advice.toml"
    file.write_text(STUDY)
    return file


def take(study: Path, *words: object) -> str:
    folder = study.with_suffix("")
    queue = study.parent / "queue"
    done = completed(
        "study", study, "-o", folder, "--llm-queue", queue, "--llm-timeout", 0.1, *words
    )
    return done.output


def test_a_study_goes_on_as_answers_come_and_is_replayed_to_the_digit(
    study: Path, asked: list[str]
) -> None:
    queue, folder, model = study.parent / "queue", study.with_suffix(""), AutoModel()
    said = take(study)
    parents = len(json.loads((folder / "study.json").read_text())["parents"])
    assert f"{2 * parents} steps wait for an answer" in said
    assert said.count("over the baseline, profiled") == parents
    assert len(asked) == parents, "parents are measured before anything is asked, once for all arms"
    prompts = {prompt: prompt.read_text() for prompt in waiting(queue)}
    assert len(prompts) == 2 * parents
    told = [text for text in prompts.values() if "# Advice from the profile" in text]
    assert len(told) == parents

    answer_all(queue, model, only=3)
    assert "3 steps done" in take(study)
    answer_all(queue, model)
    take(study)
    assert len(list(queue.glob("*.prompt.md"))) == 2 * parents, "nothing is asked twice"
    assert max(Counter(asked).values()) == 1, "nothing is measured twice"
    lines = (folder / "results.jsonl").read_text().splitlines()
    assert len(lines) == 2 * parents
    assert "0 steps done" in take(study)

    asked.clear()
    for reply in queue.iterdir():
        reply.unlink()
    assert (
        f"{2 * parents} steps come out as they were"
        in completed("study", folder, "--replay").output
    )
    assert asked == []


def test_tasks_are_spread_over_gpus(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    formula_gpu.install_gpus(monkeypatch, 2)
    second = write_task(Path("second"), TASK_TOML.replace('name = "toy"', 'name = "second"'))
    completed(
        "optimize", second, "--evaluator", "formula-gpu", "--evaluations", 4, "--out", "other",
        "--memory", "off", "--finalists", 0,
    )  # fmt: skip
    text = study.read_text().replace('["run"]', '["run", "other"]')
    study.write_text(text.replace("formula-gpu", "gpu"))
    formula_gpu.OPENED.clear()
    devices = ("--devices", "all")
    take(study, *devices)
    answer_all(study.parent / "queue", AutoModel())
    take(study, *devices)
    assert {task for task, _ in formula_gpu.OPENED} == {"toy", "second"}
    assert {device for _, device in formula_gpu.OPENED} == {0, 1}
    folder = study.with_suffix("")
    keys = json.loads((folder / "study.json").read_text())["keys"]
    lines = (folder / "results.jsonl").read_text().splitlines()
    assert sorted(json.loads(line)["key"] for line in lines) == sorted(keys)


def test_a_step_that_fails_ends_the_others_and_leaves_nothing_open(
    study: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, failed_at_once = threading.Lock(), threading.Event()

    def take_step(lab: Laboratory, step: object, parent: Candidate) -> None:
        if first.acquire(blocking=False):
            failed_at_once.set()
            raise WorldError("the model is gone")
        failed_at_once.wait(10)
        time.sleep(0.3)
        new = {**parent.tunables, next(iter(parent.tunables)): 64}
        lab.evaluator.evaluate(parent.model_copy(update={"tunables": new}))

    monkeypatch.setattr(Laboratory, "take", take_step)
    formula_gpu.OPENED.clear()
    done = rooftree(
        "study", study, "-o", study.with_suffix(""), "--llm-queue", study.parent / "queue"
    )
    assert done.exit_code == 2 and "the model is gone" in done.stderr
    parents = json.loads((study.with_suffix("") / "study.json").read_text())["parents"]
    assert len(asked) == len(parents), "nothing was measured behind the failure"
    assert len(formula_gpu.OPENED) == 1


def test_a_study_does_not_go_on_on_another_gpu_unless_it_says_so(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take(study)
    answer_all(study.parent / "queue", AutoModel())
    monkeypatch.setattr(formula_gpu, "GPU", "Another GPU")
    folder = study.with_suffix("")
    words = ("study", study, "-o", folder, "--llm-queue", study.parent / "queue")
    failed(rooftree(*words), "was measured on Formula GPU so far and this is Another GPU")
    steps = len(json.loads((folder / "study.json").read_text())["keys"])
    assert len((folder / "results.jsonl").read_text().splitlines()) < steps
    study.write_text(study.read_text().replace("[model]", "mixed_gpus = true\n\n[model]"))
    take(study)
    assert len((folder / "results.jsonl").read_text().splitlines()) == steps
    assert "another kind of GPU than their parents" in completed("compare", folder).output


def test_an_arm_without_a_step_is_named_and_has_no_figures() -> None:
    plan = plan_with(4, 4)
    arms = {**plan.study.arms, "evidence": ModelOptions(feedback="evidence")}
    study = plan.study.model_copy(update={"arms": arms})
    plan = plan.model_copy(update={"study": study})
    gains = {parent.name: 1.2 for parent in plan.parents}
    found = compare_steps(plan, [*line(plan, "tools", gains), *line(plan, "none", gains)])
    assert [arm.arm for arm in found.arms] == ["tools", "none"]
    assert any("no step of evidence was taken" in words for words in found.warnings)


def test_compare_says_what_each_arm_came_to(study: Path) -> None:
    take(study)
    answer_all(study.parent / "queue", AutoModel())
    take(study)
    folder = study.with_suffix("")
    out = completed("compare", folder).output
    assert "tools against each arm" in out and "kept gain" in out
    found = json.loads(completed("compare", folder, "--json").stdout)
    assert found["reference"] == "tools"
    (arm,) = [arm for arm in found["arms"] if arm["arm"] == "none"]
    assert arm["steps"] == arm["right"] + arm["failed"] + arm["rejected"] + arm["same"]
    assert (folder / "compare.csv").read_text().count("\n") == 1 + len(found["contests"])
    failed(rooftree("compare", folder, "--reference", "nobody"), "no arm 'nobody'")


def test_a_parent_that_fails_here_is_left_out_and_counted(study: Path) -> None:
    nodes = read_result(read_events(study.parent / "run")).nodes
    bad = next(node.candidate.id for node in nodes[1:] if node.candidate is not None)
    formula_gpu.FAILING.add(bad)
    said = take(study)
    assert said.count("fails here: an illegal access") == 1
    assert "2 steps left out: their parents fail here" in said


def test_beyond_its_gpu_minutes_a_study_measures_nothing_new(study: Path, asked: list[str]) -> None:
    study.write_text(
        STUDY.replace('evaluator = "formula-gpu"', 'evaluator = "formula-gpu"\ngpu_minutes = 1e-9')
    )
    done = rooftree(
        "study", study, "-o", study.with_suffix(""), "--llm-queue", study.parent / "queue",
        "--llm-timeout", 0.1, "--jobs", 1,
    )  # fmt: skip
    failed(done, "its cap is", "raise gpu_minutes")
    assert len(asked) < 4


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (('name = "queue/person"', ""), "give the model as name"),
        (('feedback = "none"', 'feedbak = "none"'), "did you mean feedback?"),
        (('feedback = "none"', ""), "the arms tools and none are the same"),
        (('feedback = "none"', 'api_base = "http://x/v1"'), "there is no key api_base"),
        (('reference = "tools"', 'reference = "tols"'), "is none of the arms"),
        (('parents = ["run"]', 'parents = ["nowhere"]'), "nowhere"),
        (('parents = ["run"]', 'parents = ["run:0"]'), "no measured variant 0"),
    ],
)
def test_a_mistake_in_the_file_is_one_line(study: Path, change: tuple[str, str], why: str) -> None:
    study.write_text(STUDY.replace(*change))
    failed(rooftree("study", study, "--llm-queue", study.parent / "queue"), why)


def test_a_changed_line_is_not_compared(study: Path) -> None:
    take(study)
    answer_all(study.parent / "queue", AutoModel())
    take(study)
    results = study.with_suffix("") / "results.jsonl"
    text = results.read_text()
    results.write_text(text.replace('"parent_speedup":', '"parent_speedup":1', 1))
    failed(rooftree("compare", results.parent), "line 1", "changed after it was written")


def plan_with(parents: int, problems: int) -> OneStepPlan:
    study = OneStepStudy(
        kind="one_step",
        name="made",
        parents=("run",),
        arms={"tools": ModelOptions(feedback="tools"), "none": ModelOptions(feedback="none")},
        reference="tools",
    )
    found = tuple(
        Parent(
            run=f"problem{at % problems}", node=at, task=f"problem{at % problems}",
            task_id=f"task-{at % problems}", candidate=f"candidate-{at}", speedup=2.0,
        )
        for at in range(parents)
    )  # fmt: skip
    plan = OneStepPlan(rooftree="1", study=study, parents=found)
    return plan.model_copy(update={"keys": tuple(step.key for step in steps_of(plan))})


def line(plan: OneStepPlan, arm: str, gains: dict[str, float | None]) -> list[StepResult]:
    return [
        StepResult(
            key=step.key, arm=arm, task=step.parent.task, parent=step.parent.name, reply=step.reply,
            status="measured" if gains[step.parent.name] else "wrong_result",
            parent_speedup=2.0, parent_interval=(1.9, 2.1),
            speedup=2.0 * gain if (gain := gains[step.parent.name]) else None,
        )
        for step in steps_of(plan)
        if step.arm == arm
    ]  # fmt: skip


def test_a_difference_that_is_there_is_found_with_its_size() -> None:
    plan, draw = plan_with(48, 12), random.Random(3)
    none = {parent.name: draw.uniform(1.05, 1.2) for parent in plan.parents}
    tools = {name: gain * 1.1 * draw.uniform(0.98, 1.02) for name, gain in none.items()}
    found = compare_steps(plan, [*line(plan, "tools", tools), *line(plan, "none", none)])
    kept = next(contest for contest in found.contests if contest.measure == "kept gain")
    assert kept.ratio == pytest.approx(1.1, rel=0.02)
    assert kept.low < 1.1 < kept.high and kept.p_holm < 1e-6
    assert (kept.wins, kept.losses, kept.pairs) == (48, 0, 48)
    assert kept.detectable is not None and kept.detectable <= 1.05


def test_failures_count_as_no_gain_and_are_tested_apart() -> None:
    plan = plan_with(20, 10)
    names = [parent.name for parent in plan.parents]
    tools = dict.fromkeys(names, 1.5)
    none = {name: None if at < 9 else 1.5 for at, name in enumerate(names)}
    found = compare_steps(plan, [*line(plan, "tools", tools), *line(plan, "none", none)])
    by = {contest.measure: contest for contest in found.contests}
    assert by["gain"].pairs == 11 and by["gain"].ratio == pytest.approx(1.0)
    assert by["kept gain"].wins == 9 and by["kept gain"].ties == 11
    assert by["failures"].p == pytest.approx(2 * 0.5**9)
    assert by["failures"].ratio == pytest.approx(-0.45)
    (arm,) = [arm for arm in found.arms if arm.arm == "none"]
    assert (arm.failed, arm.right) == (9, 11)


def test_false_alarms_are_as_rare_as_they_are_said_to_be() -> None:
    plan = plan_with(24, 6)
    alarms, draw = 0, random.Random(5)
    for _ in range(200):
        both = [
            line(plan, arm, {p.name: draw.lognormvariate(0.1, 0.2) for p in plan.parents})
            for arm in ("tools", "none")
        ]
        found = compare_steps(plan, [*both[0], *both[1]])
        alarms += any(contest.p_holm < 0.05 for contest in found.contests)
    assert alarms <= 20, "of 200 about 10 are expected"


def test_a_node_of_thousands_of_digits_is_no_node() -> None:
    assert run_and_node("run:12") == ("run", 12)
    endless = "run:" + "7" * 5000
    assert run_and_node(endless) == (endless, None)


def test_runs_of_one_name_are_told_apart(study: Path) -> None:
    """As the run folders of a study's arms are, which bear the name of their task."""
    for arm in ("tree", "best"):
        shutil.copytree(study.parent / "run", study.parent / arm / "toy-0")
    whole = find_parents((str(study.parent / "run"),))
    nodes = [each.parent.node for each in whole]
    assert {each.parent.run for each in whole} == {"run"}
    arms = find_parents(
        (
            f"{study.parent / 'tree' / 'toy-0'}:{nodes[0]}",
            f"{study.parent / 'best' / 'toy-0'}:{nodes[1]}",
        )
    )
    assert [each.parent.name for each in arms] == [
        f"tree/toy-0:{nodes[0]}", f"best/toy-0:{nodes[1]}",
    ]  # fmt: skip


def test_parents_are_drawn_by_their_seed_and_so_many_of_a_task(study: Path) -> None:
    found = find_parents((str(study.parent / "run"),))
    assert len(found) >= 3
    one = draw(found, seed=1, count=9, most=2)
    assert len(one) == 2 and one == draw(found[::-1], seed=1, count=9, most=2)[::-1]
    assert len(draw(found, seed=1, count=1, most=2)) == 1
    drawn = {
        each.parent.node for seed in range(20) for each in draw(found, seed=seed, count=1, most=1)
    }
    assert len(drawn) > 1
