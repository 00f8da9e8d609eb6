"""Studies of searches with a model: what arms share, kills, replays, comparisons."""

from __future__ import annotations

import gc
import json
import random
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import weakref
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from codegen.chat import clients
from codegen.chat.messages import Reply
from experiments.benchmarks.measurements import asking
from experiments.benchmarks.measurements.evaluator import StoredEvaluator
from experiments.benchmarks.measurements.store import MeasurementStore
from experiments.benchmarks.model_studies.cell import (
    Cell,
    Gain,
    ModelCellResult,
    TaskOfStudy,
)
from experiments.benchmarks.model_studies.comparing import compare_searches
from experiments.benchmarks.model_studies.config import ModelArm, ModelStudy
from experiments.benchmarks.model_studies.folder import ModelPlan, cells_of
from experiments.benchmarks.studies.recorded_task import recorded_task
from experiments.runs.folders.journal import read_events
from experiments.runs.tasks.files import find_task
from mcts.domain import Candidate, Evaluation, Profile
from mcts.domain.tunables import configuration_key
from mcts.errors import Suspended
from mcts.journal.record import read_result
from mcts.options import ModelOptions
from mcts.ports import StageObserver
from mcts.testing.toy import ToyEvaluator, toy_task
from profilers.recordings.t4 import load_recording
from tests.experiments.conftest import TASK_TOML, write_task
from tests.support import formula_gpu, suite_world
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
    runs = list(Path("st/runs").glob("*/*"))
    assert runs
    for run in runs:
        completed("explain", run)


def test_an_arm_that_wants_probabilities_shares_no_answers_that_have_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Model:
        def __init__(self, name: str, *, probabilities: bool) -> None:
            self._logprob = -2.0 if probabilities else None

        def complete(self, *_: object, **__: object) -> Reply:
            return Reply(text="{}", model="m", asked="m", logprob=self._logprob)

        def close(self) -> None:
            """Nothing is held."""

    monkeypatch.setattr(clients, "TransformersClient", Model)
    session = ModelOptions(name="transformers/m")
    shared = asking.SharedClients(tmp_path / "answers.sqlite", session, run_id="a")
    told = [
        shared.of(session.model_copy(update={"model_prior": prior})).complete(
            [{"role": "user", "content": "?"}], max_tokens=9, temperature=1.0, seed=1
        )
        for prior in (False, True, False, True)
    ]
    shared.close()
    assert [one.logprob for one in told] == [None, -2.0, None, -2.0]
    assert [one.cached for one in told] == [False, False, True, True]


def test_only_what_a_search_goes_on_from_is_profiled(study: Path) -> None:
    finish(study, AutoModel())
    for run in Path("st/runs").glob("*/*"):
        events = list(read_events(run))
        nodes = read_result(events).nodes
        parents = [nodes[node.parent].candidate for node in nodes if node.parent is not None]
        ids = {candidate.id for candidate in parents if candidate is not None}
        assert {e.payload["candidate_id"] for e in events if e.kind == "profiled"} <= ids


def test_tasks_are_spread_over_gpus_and_come_to_the_same(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    formula_gpu.install_gpus(monkeypatch, 2)
    write_task(Path("second"), TASK_TOML.replace('name = "toy"', 'name = "second"'))
    text = study.read_text().replace('["toy"]', '["toy", "second"]')
    study.write_text(text.replace("formula-gpu", "gpu"))
    queue, model = study.parent / "queue", AutoModel()
    found = []
    for words in ((), ("--devices", "0,1")):
        formula_gpu.OPENED.clear()
        folder = f"st{len(found)}"
        command = ("study", study, "-o", folder, "--llm-queue", queue, "--llm-timeout", 0.1, *words)
        while "wait for an answer" in completed(*command).output:
            answer_all(queue, model)
        lines = Path(folder, "results.jsonl").read_text().splitlines()
        found.append({line["key"]: line["best"] for line in map(json.loads, lines)})
        devices = {device for _task, device in formula_gpu.OPENED}
        assert devices == ({0, 1} if words else {0})
    assert len(found[0]) == 6
    assert found[0] == found[1]


def test_no_task_of_a_study_goes_on_on_another_gpu_unless_it_says_so(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take(study)
    write_task(Path("second"), TASK_TOML.replace('name = "toy"', 'name = "second"'))
    study.write_text(study.read_text().replace('["toy"]', '["second", "toy"]'))
    monkeypatch.setattr(formula_gpu, "GPU", "Another GPU")
    formula_gpu.OPENED.clear()
    words = ("study", study, "-o", "st", "--llm-queue", study.parent / "queue")
    done = rooftree(*words, "--llm-timeout", 0.1)
    failed(done, "was measured on Formula GPU so far", "this is Another GPU")
    assert [task for task, _device in formula_gpu.OPENED] == ["second"], "a new one neither"
    text = study.read_text().replace("[model]", "mixed_gpus = true\n\n[model]", 1)
    study.write_text(text)
    assert "wait for an answer" in take(study)


def test_a_task_that_cannot_be_judged_is_told_once_and_the_others_go_on(study: Path) -> None:
    write_task(Path("large"), TASK_TOML.replace('name = "toy"', 'name = "large"'))
    study.write_text(study.read_text().replace('["toy"]', '["large", "toy"]'))
    formula_gpu.UNFIT.add("large")
    said = take(study)
    assert "large is too large for the Formula GPU" in said
    assert [task for task, _device in formula_gpu.OPENED] == ["large", "toy"], "tried once"
    assert "3 runs wait for an answer" in said


def test_winners_are_set_beside_the_compiled_model_once_no_run_has_the_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    suite_world.install(monkeypatch)
    problems = {
        "1_one.py": suite_world.problem_text("2.0", "3.0"),
        "2_two.py": suite_world.problem_text("wrong", "2.0", also="no compile"),
    }
    level = suite_world.make_level(tmp_path, problems) / "KernelBench" / "level1"
    arms = "".join(f'[arms.{arm}]\nproposer = "canned"\ntrials = {n}\n' for arm, n in
                   (("two", 2), ("one", 1)))  # fmt: skip
    tasks = [str(level / name) for name in problems]
    Path("beside.toml").write_text(
        f'kind = "model"\ntasks = {tasks}\ntrials = 2\nfinalists = 1\nover_compile = true\n'
        f'reference = "two"\nevaluator = "paper"\n[model]\nname = "queue/none"\n{arms}'
    )
    said = completed("study", "beside.toml", "-o", "st").output
    assert "not measured over torch.compile: torch.compile fails on the model" in said
    lines = {(line["arm"], line["task"]): line for line in map(
        json.loads, Path("st/results.jsonl").read_text().splitlines())}  # fmt: skip
    assert lines["two", "1_one"]["final"]["speedup"] == pytest.approx(3 * suite_world.CONFIRMED)
    compiled = lines["two", "1_one"]["compiled"]["speedup"]
    assert compiled == pytest.approx(3 * suite_world.CONFIRMED / suite_world.COMPILED)
    assert lines["one", "1_one"]["compiled"]["speedup"] < compiled
    assert lines["two", "2_two"]["compiled"] is None
    assert lines["two", "2_two"]["final"]["speedup"] > 1
    assert "4 runs come out as they were" in completed("study", "st", "--replay").output


def test_a_doubt_about_the_compiled_model_leaves_its_task_for_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    suite_world.install(monkeypatch)
    problems = {
        "1_one.py": suite_world.problem_text("2.0", also="suspect compile"),
        "2_two.py": suite_world.problem_text("2.0"),
    }
    level = suite_world.make_level(tmp_path, problems) / "KernelBench" / "level1"
    Path("doubt.toml").write_text(
        f'kind = "model"\ntasks = {[str(level / name) for name in problems]}\ntrials = 1\n'
        'finalists = 1\nover_compile = true\nreference = "one"\nevaluator = "paper"\n'
        '[model]\nname = "queue/none"\n[arms.one]\nproposer = "canned"\n'
    )
    said = completed("study", "doubt.toml", "-o", "st").output
    assert "left out: 1_one: the model fails as its own candidate (suspect)" in said
    (line,) = map(json.loads, Path("st/results.jsonl").read_text().splitlines())
    assert line["task"] == "2_two" and line["compiled"]["speedup"] > 1
    monkeypatch.setattr(  # a GPU that is quiet now
        suite_world,
        "paper",
        lambda request: suite_world.PaperEvaluator(request.task, compiled=request.judging.compiled),
    )
    completed("study", "doubt.toml", "-o", "st")
    assert len(Path("st/results.jsonl").read_text().splitlines()) == 2


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


def test_another_study_pays_for_nothing_that_it_takes_over(study: Path, asked: list[str]) -> None:
    finish(study, AutoModel())
    asked.clear()
    for file in (study.parent / "queue").iterdir():
        file.unlink()
    again = study.with_name("again.toml")
    again.write_text(STUDY + "[arms.longer]\ntrials = 4\nsettings = { far_proposals = 0 }\n")
    words = ("study", again, "-o", "st2", "--llm-queue", study.parent / "queue", "--reuse", "st")
    told = completed(*words, "--llm-timeout", 0.1).output
    assert re.search(r"taken over from st: [1-9]\d* answers, [1-9]\d* measurements", told)
    assert asked == [], "nothing is measured again"
    assert "1 runs wait for an answer" in told, "only the fourth trial is new"
    assert Path("st2/answers.sqlite").stat().st_mode & 0o077 == 0, "prompts hold the user's code"
    with sqlite3.connect("st2/answers.sqlite") as answers:
        payers = {row[0] for row in answers.execute("SELECT run_id FROM answer")}
    assert payers == {""}, "this study has paid for none of them"
    store = MeasurementStore(Path("st2/measurements.sqlite"), read_only=True)
    assert store.seconds == 0.0, "the study itself has measured nothing"
    store.close()


def test_what_is_taken_over_needs_no_gpu(
    study: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    finish(study, AutoModel())
    asked.clear()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    on_gpu = study.with_name("again.toml")
    on_gpu.write_text(STUDY.replace("formula-gpu", "gpu"))
    words = ("study", on_gpu, "-o", "st2", "--llm-queue", study.parent / "queue")
    failed(rooftree(*words, "--llm-timeout", 0.1), "no NVIDIA GPU")
    assert "3 runs done" in completed(*words, "--reuse", "st").output
    assert asked == []


def test_a_task_that_waits_for_an_answer_keeps_no_gpu_from_the_next(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "QUIET_S", 0.1)
    write_task(Path("second"), TASK_TOML.replace('name = "toy"', 'name = "second"'))
    study.write_text(study.read_text().replace('["toy"]', '["toy", "second"]'))
    queue, model, at_once = study.parent / "queue", AutoModel(), []
    queue.mkdir()

    def answer() -> None:
        """Nothing before both tasks have asked, then whatever comes."""
        ends = time.monotonic() + 60
        while len(list(queue.glob("*.prompt.md"))) < 2 and time.monotonic() < ends:
            time.sleep(0.05)
        at_once.extend(queue.glob("*.prompt.md"))
        while not ended.wait(0.05):
            answer_all(queue, model)

    ended, helper = threading.Event(), threading.Thread(target=answer)
    helper.start()
    try:
        told = completed("study", study, "-o", "st", "--llm-queue", queue).output
    finally:
        ended.set()
        helper.join()
    assert len(at_once) == 2
    assert "6 runs done" in told and "wait for an answer" not in told


def test_what_is_no_study_cannot_be_taken_over(study: Path, tmp_path: Path) -> None:
    words = ("study", study, "-o", "st", "--llm-queue", "queue", "--reuse", tmp_path)
    failed(rooftree(*words), "has nothing to reuse")
    assert not Path("st").exists(), "nothing was begun"
    failed(rooftree("study", "st", "--replay", "--reuse", tmp_path), "leave --reuse out")


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
        (("first = 1", 'first = 1\nproposer = "uniform"'), "proposer uniform asks no model"),
        (("first = 1", 'proposer = "unifrom"'), "unifrom"),
        (("first = 1", 'memory = "nowhere.sqlite"'), "nowhere.sqlite"),
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
            key=cell.key, arm=cell.arm, task=cell.task.name, seed=0,
            best=() if failed_run else ((1, speedup),),
            winner=None if failed_run else "c", final=final, trials=4, failed=0, unusable=0,
            replies=4, tokens=None, cost_usd=None, stopped="evaluations spent", digest="",
        )  # fmt: skip

    found = compare_searches(plan, [line(at) for at in range(len(plan.keys))])
    (contest,) = found.contests
    assert contest.wins == 12 and contest.p_holm < 0.001
    assert contest.ratio > 1.3, "the failed run of the other arm counts as 1"
    greedy = next(arm for arm in found.arms if arm.arm == "greedy")
    assert greedy.right == 11 and greedy.fast[1.0] == pytest.approx(11 / 12)


def test_problems_of_several_levels_are_told_by_level_too() -> None:
    study = ModelStudy(
        kind="model", name="made", tasks=("a",), trials=1, reference="tree",
        arms={"tree": ModelArm()},
    )  # fmt: skip
    given = {"t1": "level1/1_a.py", "t2": "level1/2_b.py", "t3": "level2/1_c.py"}
    tasks = tuple(
        TaskOfStudy(given=path, name=name, task_id=f"task-{name}") for name, path in given.items()
    )
    plan = ModelPlan(rooftree="1", study=study, tasks=tasks)
    plan = plan.model_copy(update={"keys": tuple(cell.key for cell in cells_of(plan))})

    def lines(speedups: tuple[float, ...]) -> list[ModelCellResult]:
        return [
            ModelCellResult(
                key=cell.key, arm=cell.arm, task=cell.task.name, seed=0, best=((1, speedup),),
                winner="c", final=Gain(speedup=speedup, low=speedup, high=speedup), trials=1,
                failed=0, unusable=0, replies=1, tokens=None, cost_usd=None, stopped="", digest="",
            )
            for cell, speedup in zip(cells_of(plan), speedups, strict=True)
        ]  # fmt: skip

    found = compare_searches(plan, lines((2.0, 8.0, 3.0)))
    means = {level: arms[0].final[0] for level, arms in found.by_level.items()}
    assert means == pytest.approx({1: 4.0, 2: 3.0})
    elsewhere = tasks[2].model_copy(update={"given": "mine"})
    mixed = plan.model_copy(update={"tasks": (*tasks[:2], elsewhere)})
    assert compare_searches(mixed, lines((2.0, 8.0, 3.0))).by_level == {}


VALUES = """
kind = "model"
tasks = ["row_softmax"]
trials = 30
near = 0.01
finalists = 0
reference = "scripted"
evaluator = "replay"

[model]
name = "queue/person"
reply_repairs = 0

[arms.scripted]
proposer = "scripted"

[arms.uniform]
search = "best_of_n"
proposer = "uniform"
"""
UNNAMED = """
[arms.unnamed]
trials = 2
names = false
"""


def test_arms_that_ask_no_model_are_compared_by_what_they_need_to_the_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("values.toml").write_text(VALUES)
    completed("study", "values.toml", "-o", "st")
    lines = [json.loads(line) for line in Path("st/results.jsonl").read_text().splitlines()]
    recording = recorded_task("row_softmax").recording
    times = {record.key: record.time_us for record in recording.measured}
    enough = 1.01 * min(time for time in times.values() if time is not None)
    for line in lines:
        told = list(read_events(Path("st/runs", line["arm"], "row_softmax-0")))
        tried = {e.payload["candidate_id"]: None for e in told if e.kind == "measured"}
        proposals = [e.payload["candidate"] for e in told if e.kind == "proposed"]
        candidates = [Candidate.model_validate(payload) for payload in proposals if payload]
        proposed = {candidate.id: candidate.tunables for candidate in candidates}
        found = [
            n
            for n, id in enumerate(list(tried)[1:], 1)
            if times.get(configuration_key(proposed[id]), 1e9) <= enough
        ]
        assert line["near"] == (found[0] if found else None)
        assert line["replies"] == 0
    out = completed("compare", "st").output
    assert "near the best" in out and "evaluations" in out


def test_an_arm_without_names_is_shown_values_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("values.toml").write_text(VALUES + UNNAMED)
    completed("study", "values.toml", "-o", "st", "--llm-queue", "queue", "--llm-timeout", 0.1)
    (prompt,) = Path("queue").glob("*.prompt.md")
    said = prompt.read_text()
    assert "CHOICE_9" in said
    source = find_task("row_softmax").task
    for name, tunable in source.space.tunables.items():
        assert not re.search(rf"\b{name}\b", said.partition("<!-- user")[2])
        assert tunable.help not in said
        assert not tunable.methods or f'"{tunable.methods[0]}"' not in said
    before = recorded_task("row_softmax").recording
    after = load_recording(Path("st/unnamed/row_softmax/recordings/unnamed.json.gz"))
    assert [list(one.configuration.values()) for one in after.configurations] == [
        list(one.configuration.values()) for one in before.configurations
    ]
    assert [one.runtimes_us for one in after.configurations] == [
        one.runtimes_us for one in before.configurations
    ]
    Path("st").rename("moved")
    while list(Path("queue").glob("*.prompt.md")) and answer_all(Path("queue"), AutoModel()):
        completed(
            "study", "values.toml", "-o", "moved", "--llm-queue", "queue", "--llm-timeout", 0.1
        )
    (line,) = [
        line
        for text in Path("moved/results.jsonl").read_text().splitlines()
        if (line := json.loads(text))["arm"] == "unnamed"
    ]
    assert line["trials"] == 2 and line["failed"] == 0
    assert "3 runs come out as they were" in completed("study", "moved", "--replay").output


def test_an_arm_begins_with_what_a_memory_holds_of_other_tasks(study: Path, tmp_path: Path) -> None:
    memory = tmp_path / "memory.sqlite"
    completed("optimize", "row_softmax", "--evaluations", 12, "--memory", memory)
    study.write_text(STUDY + '\n[arms.warm]\nmemory = "memory.sqlite"\n')
    take(study)
    assert Path("st/runs/warm/toy-0/knowledge.json").is_file()
    assert not Path("st/runs/tree/toy-0/knowledge.json").exists()
    before = memory.read_bytes()
    finish(study, AutoModel())
    assert memory.read_bytes() == before, "no run of a study adds to it"


def test_a_run_that_never_comes_near_counts_as_after_the_shorter_run() -> None:
    study = ModelStudy(
        kind="model", name="made", tasks=("a",), trials=40, near=0.01, at=(1, 9), reference="long",
        arms={"long": ModelArm(), "short": ModelArm(trials=4)},
    )  # fmt: skip
    tasks = tuple(TaskOfStudy(given=f"t{n}", name=f"t{n}", task_id=f"task-{n}") for n in range(6))
    plan = ModelPlan(rooftree="1", study=study, tasks=tasks)
    plan = plan.model_copy(update={"keys": tuple(cell.key for cell in cells_of(plan))})

    def line(cell: Cell) -> ModelCellResult:
        return ModelCellResult(
            key=cell.key, arm=cell.arm, task=cell.task.name, seed=0, best=((1, 2.0),), winner="c",
            final=Gain(speedup=2, low=2, high=2), trials=cell.trials, failed=0, unusable=0,
            near=None if cell.arm == "long" else 2, replies=4, tokens=None, cost_usd=None,
            stopped="evaluations spent", digest="",
        )  # fmt: skip

    found = compare_searches(plan, [line(cell) for cell in cells_of(plan)])
    by = {contest.measure: contest for contest in found.contests}
    assert by["near"].ratio == pytest.approx(2 / 5) and by["near"].losses == 6
    assert "9" not in by, "the short runs have no ninth trial"
    assert {arm.arm: arm.near for arm in found.arms} == {"long": (0, None), "short": (6, 2.0)}
    assert any("between 4 and 40 trials" in words for words in found.warnings)


def test_once_stopped_an_evaluator_ends_what_it_measures_and_begins_nothing(
    tmp_path: Path,
) -> None:
    begun, going = threading.Event(), threading.Event()

    class Slow(ToyEvaluator):
        def evaluate(self, candidate: Candidate) -> Evaluation:
            begun.set()
            assert going.wait(30)
            return super().evaluate(candidate)

    store = MeasurementStore(tmp_path / "measurements.sqlite")
    task = toy_task()
    evaluator = StoredEvaluator(task, store, open=Slow)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(evaluator.evaluate, task.baseline)
        assert begun.wait(30)
        assert evaluator.under_way == 1
        evaluator.stop()
        going.set()
        assert first.result().measured
    assert evaluator.under_way == 0
    with pytest.raises(Suspended):
        evaluator.evaluate(Candidate(tunables={"BLOCK": 4, "TILE": 4, "UNROLL": 4}))
    assert evaluator.evaluate(task.baseline).measured, "what is known is still given"
    evaluator.close()
    store.close()


def test_waiting_for_another_candidate_is_no_measuring_and_every_run_hears_of_stages(
    tmp_path: Path,
) -> None:
    class OneAtATime(ToyEvaluator):
        def tell_stages(self, observer: StageObserver) -> None:
            self.tell = observer

        def evaluate(self, candidate: Candidate) -> Evaluation:
            self.tell(candidate.id, "waiting")
            time.sleep(0.3)
            self.tell(candidate.id, "timing")
            return super().evaluate(candidate)

    store = MeasurementStore(tmp_path / "measurements.sqlite")
    task = toy_task()
    evaluator = StoredEvaluator(task, store, open=OneAtATime)
    heard: list[list[str]] = [[], []]
    for told in heard:
        evaluator.tell_stages(lambda _candidate, stage, told=told: told.append(stage))
    begin = time.monotonic()
    assert evaluator.evaluate(task.baseline).measured
    took = time.monotonic() - begin
    assert heard == [["waiting", "timing"]] * 2
    assert store.seconds <= took - 0.3 + 0.002, "what was waited is not counted"
    assert evaluator.evaluate(task.baseline).measured
    assert heard == [["waiting", "timing"]] * 2, "what is known is not measured"
    evaluator.close()
    store.close()


def test_a_candidate_is_confirmed_and_profiled_at_once_without_harm(tmp_path: Path) -> None:
    class Told(ToyEvaluator):
        def tell_stages(self, observer: StageObserver) -> None:
            self.tell = observer

        def confirm(self, candidate: Candidate, evaluation: Evaluation) -> Evaluation:
            self.tell(candidate.id, "timing")
            time.sleep(0.2)
            self.tell(candidate.id, "confirming")
            return evaluation

        def profile(self, candidate: Candidate, evaluation: Evaluation) -> Profile:
            self.tell(candidate.id, "profiling")
            time.sleep(0.05)
            return Profile()

    store = MeasurementStore(tmp_path / "measurements.sqlite")
    task = toy_task()
    evaluator = StoredEvaluator(task, store, open=Told)
    found = evaluator.evaluate(task.baseline)
    with ThreadPoolExecutor(2) as pool:
        confirmed = pool.submit(evaluator.confirm, task.baseline, found)
        profiled = pool.submit(evaluator.profile, task.baseline, found)
        assert confirmed.result().measured
        profiled.result()
    assert evaluator.under_way == 0
    evaluator.close()
    store.close()


def test_a_run_that_has_ended_is_not_kept_for_its_stages(tmp_path: Path) -> None:
    class Run:
        def __init__(self) -> None:
            self.heard: list[str] = []

        def enter(self, _candidate: str, stage: str) -> None:
            self.heard.append(stage)

    class Told(ToyEvaluator):
        def tell_stages(self, observer: StageObserver) -> None:
            self.tell = observer

        def evaluate(self, candidate: Candidate) -> Evaluation:
            self.tell(candidate.id, "timing")
            return super().evaluate(candidate)

    store = MeasurementStore(tmp_path / "measurements.sqlite")
    task = toy_task()
    evaluator = StoredEvaluator(task, store, open=Told)
    ended, going = Run(), Run()
    evaluator.tell_stages(ended.enter)
    evaluator.tell_stages(going.enter)
    gone = weakref.ref(ended)
    del ended
    gc.collect()
    assert gone() is None
    assert evaluator.evaluate(task.baseline).measured
    assert going.heard == ["timing"]
    evaluator.close()
    store.close()
