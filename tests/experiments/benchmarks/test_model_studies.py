"""Studies of searches with a model: what arms share, kills, replays, comparisons."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from experiments.benchmarks.model_studies.cell import Gain, ModelCellResult, TaskOfStudy
from experiments.benchmarks.model_studies.comparing import compare_searches
from experiments.benchmarks.model_studies.config import ModelArm, ModelStudy
from experiments.benchmarks.model_studies.folder import ModelPlan, cells_of
from experiments.runs.folders.journal import read_events
from tests.support import formula_gpu
from tests.support.commands import completed, failed, rooftree
from tests.support.file_answers import answer_all
from tests.support.openai_server import AutoModel

ROOT = Path(__file__).parents[3]
# Far moves ask for more than others: without them all searches ask the same first.
STUDY = """
kind = "model"
tasks = ["toy"]
trials = 3
at = [1, 2]
reference = "tree"
evaluator = "formula-gpu"

[model]
name = "queue/person"
reply_repairs = 0

[arms.tree]
settings = { far_proposals = 0 }

[arms.greedy]
search = "greedy"

[arms.first]
settings = { far_proposals = 0 }
first = 1
"""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of what is measured."""
    return formula_gpu.install(monkeypatch)


@pytest.fixture
def study(
    toy_folder: Path, tmp_path: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "search.toml"
    file.write_text(STUDY)
    return file


def take(study: Path) -> str:
    queue = study.parent / "queue"
    words = ("study", study, "-o", "st", "--llm-queue", queue, "--llm-timeout", 0.1)
    return completed(*words).output


def finish(study: Path, model: AutoModel) -> int:
    """Answer until every run has ended; returns how many questions were asked."""
    while "wait for an answer" in take(study):
        assert answer_all(study.parent / "queue", model)
    return len(list((study.parent / "queue").glob("*.prompt.md")))


def test_arms_share_what_they_ask_and_measure(study: Path, asked: list[str]) -> None:
    assert "3 runs wait for an answer" in take(study)
    assert len(list((study.parent / "queue").glob("*.prompt.md"))) == 1, "all ask the same first"
    assert len(asked) == 1, "the baseline is measured once"
    questions = finish(study, AutoModel())
    lines = [json.loads(line) for line in Path("st/results.jsonl").read_text().splitlines()]
    assert len(lines) == 3
    assert max(Counter(asked).values()) <= 2, "once, and once more as a finalist"
    assert sum(line["replies"] for line in lines) > questions, "some replies served two arms"
    (first,) = [line for line in lines if line["arm"] == "first"]
    assert first["trials"] == 3 and first["replies"] < 3
    for run in Path("st/runs").glob("*/*"):
        completed("explain", run)


def test_an_arm_alone_asks_for_samples_of_one_question(study: Path) -> None:
    arm = 'search = "best_of_n"\nalone = true\nparallel = 3'
    study.write_text(STUDY.partition("[arms.tree]")[0] + f"[arms.tree]\n{arm}\n")
    take(study)
    prompts = [prompt.read_text() for prompt in (study.parent / "queue").glob("*.prompt.md")]
    assert len(prompts) == 3 and len(set(prompts)) == 1


def test_a_run_that_was_killed_before_it_began_is_made_anew(study: Path) -> None:
    take(study)
    run = Path("st/runs/tree/toy-0")
    for name in ("config.toml", "run.sqlite"):
        (run / name).unlink()
    finish(study, AutoModel())
    assert len(Path("st/results.jsonl").read_text().splitlines()) == 3


def test_a_study_is_replayed_to_the_digit_without_model_and_gpu(
    study: Path, asked: list[str]
) -> None:
    finish(study, AutoModel())
    asked.clear()
    for file in (study.parent / "queue").iterdir():
        file.unlink()
    assert "3 runs come out as they were" in completed("study", "st", "--replay").output
    assert asked == []
    results = Path("st/results.jsonl")
    results.write_text(results.read_text().replace('"trials":3', '"trials":4', 1))
    failed(rooftree("study", "st", "--replay"), "changed after it was written")


def test_compare_shows_arms_contests_and_tasks(study: Path) -> None:
    finish(study, AutoModel())
    out = completed("compare", "st").output
    assert "tree against each arm" in out and "best after 1" in out and "task by task" in out
    found = json.loads(completed("compare", "st", "--json").stdout)
    assert {arm["arm"] for arm in found["arms"]} == {"tree", "greedy", "first"}
    failed(rooftree("compare", "st", "--reference", "nobody"), "no arm 'nobody'")


def test_kills_lose_nothing_and_ask_and_measure_nothing_twice(tmp_path: Path) -> None:
    file = tmp_path / "killed.toml"
    file.write_text(
        STUDY.replace('"toy"', '"row_softmax", "transpose"').replace("formula-gpu", "replay")
    )
    queue = tmp_path / "queue"
    words = [sys.executable, "-m", "experiments", "study", str(file), "--llm-queue", str(queue)]
    ended, draw, model = threading.Event(), random.Random(3), AutoModel()
    queue.mkdir()

    def answer() -> None:
        while not ended.wait(0.2):
            answer_all(queue, model)

    helper = threading.Thread(target=answer)
    helper.start()
    kills = 0
    try:
        while True:
            process = subprocess.Popen(
                [*words, "-o", str(tmp_path / "killed")],
                cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            )  # fmt: skip
            try:
                _, said = process.communicate(timeout=draw.uniform(2, 5) if kills < 4 else 120)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.communicate()
                kills += 1
                continue
            assert process.returncode == 0, said.decode()
            break
    finally:
        ended.set()
        helper.join()
    assert kills
    for run in (tmp_path / "killed" / "runs").glob("*/*"):
        events = read_events(run)
        assert not [event for event in events if event.kind == "abandoned"]
        measured = [e.payload["candidate_id"] for e in events if e.kind == "measured"]
        assert len(measured) == len(set(measured))
    done = subprocess.run(
        [*words[:4], str(tmp_path / "killed"), "--replay"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "6 runs come out as they were" in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (('name = "queue/person"', ""), "give the model as name"),
        (('search = "greedy"', 'serch = "greedy"'), "did you mean search?"),
        (('search = "greedy"', 'search = "gready"'), "gready"),
        (('search = "greedy"', "settings = { wideness = 2 }"), "no setting 'wideness'"),
        (('tasks = ["toy"]', 'tasks = ["nowhere.py"]'), "nowhere.py"),
        (("trials = 3", "trials = 0"), "trials"),
        (('reference = "tree"', 'reference = "three"'), "is none of the arms"),
    ],
)
def test_a_mistake_in_the_file_is_one_line(study: Path, change: tuple[str, str], why: str) -> None:
    study.write_text(STUDY.replace(*change))
    words = ("study", study, "-o", "st", "--llm-queue", study.parent / "queue")
    failed(rooftree(*words, "--llm-timeout", 0.1), why)
    assert not Path("st").exists(), "nothing is left behind"


def test_a_study_of_recordings_takes_no_options_about_a_model() -> None:
    failed(rooftree("study", "search", "--llm-queue", "queue"), "asks no model")


def test_a_difference_between_arms_is_found_and_a_failed_run_counts_as_one() -> None:
    study = ModelStudy(
        kind="model", name="made", tasks=("a",), trials=4, reference="tree",
        arms={"tree": ModelArm(), "greedy": ModelArm(search="greedy")},
    )  # fmt: skip
    tasks = tuple(TaskOfStudy(given=f"t{n}", name=f"t{n}", task_id=f"task-{n}") for n in range(12))
    plan = ModelPlan(rooftree="1", study=study, tasks=tasks)
    plan = plan.model_copy(update={"keys": tuple(cell.key for cell in cells_of(plan))})
    draw = random.Random(1)
    base = {task.name: draw.uniform(2, 9) for task in tasks}

    def line(cell_at: int) -> ModelCellResult:
        cell = cells_of(plan)[cell_at]
        speedup = base[cell.task.name] * (1.3 if cell.arm == "tree" else 1.0)
        failed_run = cell.arm == "greedy" and cell.task.name == "t0"
        final = None if failed_run else Gain(speedup=speedup, low=speedup, high=speedup)
        return ModelCellResult(
            key=cell.key, arm=cell.arm, task=cell.task.name, seed=0, best=((1, speedup),),
            winner=None if failed_run else "c", final=final, trials=4, failed=0, unusable=0,
            replies=4, tokens=None, cost_usd=None, stopped="evaluations spent", digest="",
        )  # fmt: skip

    found = compare_searches(plan, [line(at) for at in range(len(plan.keys))])
    (contest,) = found.contests
    assert contest.wins == 12 and contest.p_holm < 0.001
    assert contest.ratio > 1.3, "the failed run of the other arm counts as 1"
    greedy = next(arm for arm in found.arms if arm.arm == "greedy")
    assert greedy.right == 11 and greedy.fast[1.0] == pytest.approx(11 / 12)
