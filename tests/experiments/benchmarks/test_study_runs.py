"""`rooftree study` and `rooftree compare`: from a configuration to a page."""

from __future__ import annotations

import csv
import dataclasses
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from codegen.scripted.proposer import ScriptedProposer
from experiments.benchmarks.studies import running
from experiments.benchmarks.studies.arms import AblatedProposer, proposer_of
from experiments.benchmarks.studies.cell import CellResult
from experiments.benchmarks.studies.code import DECIDING, code_hash
from experiments.benchmarks.studies.comparing import TARGET, compare, differences, runs_of
from experiments.benchmarks.studies.config import (
    Arm,
    Study,
    bundled_studies,
    find_study,
    read_study,
    read_table,
)
from experiments.benchmarks.studies.folder import RESULTS_FILE, STUDY_FILE, Plan, StudyFolder
from experiments.benchmarks.studies.running import cells_of, plan_of
from experiments.cli.commands import study as study_command
from mcts.domain import AxisGap, Guidance, Hardware, Lesson, Profile, Roofline, StateSignature
from mcts.errors import InputError
from mcts.ports import Attempt, Proposal, ProposalRequest, Proposer
from mcts.search.trial import Move
from mcts.testing.toy import ToyEvaluator, toy_task
from tests.support.commands import completed, json_of, refused, rooftree

ROOT = Path(__file__).resolve().parents[3]
ARMS = """
[arms.tree]
[arms.hill]
search = "greedy"
[arms.many]
search = "best_of_n"
proposer = "uniform"
"""


def recorded(path: Path, *, shift: float = 0.0) -> Path:
    """A T4 file as others write it: 144 configurations of three tunables, some failing."""
    results = []
    for block in (32, 64, 128, 256, 512, 1024):
        for tile in (1, 2, 4, 8):
            for unroll in (1, 2, 3, 4, 6, 8):
                fails = block * tile > 4096
                time_ms = 1 + shift + abs(math.log2(block / 128)) + 3 / tile + abs(unroll - 4) / 5
                results.append(
                    {
                        "configuration": {"block": block, "tile": tile, "unroll": unroll},
                        "times": {"runtimes": [] if fails else [time_ms, time_ms * 1.01]},
                        "invalidity": "runtime" if fails else "correct",
                    }
                )
    path.write_text(json.dumps({"schema_version": "1.0.0", "results": results}))
    return path


def configured(tmp_path: Path) -> Path:
    recorded(tmp_path / "one.json")
    recorded(tmp_path / "two.json", shift=2.0)
    path = tmp_path / "small.toml"
    path.write_text(
        'tasks = ["one.json", "two.json"]\nseeds = 3\nbudget = 12\nat = [6]\n'
        f'reference = "tree"\n{ARMS}'
    )
    return path


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return configured(tmp_path)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of a whole study, to be copied."""
    return study(configured(tmp_path_factory.mktemp("finished")))


@pytest.fixture
def folder(finished: Path, config: Path) -> Path:
    """A copy of a finished study beside its configuration, to be written to."""
    copy = config.parent / "results"
    shutil.copytree(finished, copy)
    return copy


def study(config: Path, *words: object) -> Path:
    folder = config.parent / "results"
    completed("study", config, "-o", folder, "--jobs", 1, *words, columns=200)
    return folder


def lines_of(folder: Path) -> dict[str, CellResult]:
    return {line.key: line for line in StudyFolder(folder).lines()}


def same(one: dict[str, CellResult], other: dict[str, CellResult]) -> bool:
    """Equal but for how long each run took."""

    def timeless(lines: dict[str, CellResult]) -> dict[str, CellResult]:
        return {key: line.model_copy(update={"seconds": 0.0}) for key, line in lines.items()}

    return timeless(one) == timeless(other)


def test_every_arm_has_the_same_unique_evaluations_on_every_task(folder: Path) -> None:
    lines = lines_of(folder).values()
    assert len(lines) == 3 * 2 * 3
    assert {line.unique for line in lines} == {12}
    assert {line.stopped for line in lines} == {"budget spent"}
    assert {line.task for line in lines} == {"one", "two"}
    assert all(line.best == tuple(sorted(line.best)) for line in lines)


def test_a_second_call_runs_only_new_seeds(config: Path, folder: Path) -> None:
    before = (folder / RESULTS_FILE).read_bytes()
    study(config)
    assert (folder / RESULTS_FILE).read_bytes() == before
    config.write_text(config.read_text().replace("seeds = 3", "seeds = 4"))
    study(config)
    after = (folder / RESULTS_FILE).read_bytes()
    assert after.startswith(before)
    assert len(lines_of(folder)) == 24


def test_later_seeds_are_other_runs_of_the_same_study(config: Path, folder: Path) -> None:
    before = lines_of(folder)
    config.write_text(config.read_text().replace("seeds = 3", "seeds = 3\nfirst_seed = 2"))
    study(config)
    new = [line for key, line in lines_of(folder).items() if key not in before]
    assert sorted({line.seed for line in new}) == [3, 4]  # seed 2 was run before
    contests = json_of("compare", folder)["contests"]
    assert {contest["pairs"] for contest in contests} == {2 * 3}


def test_runs_by_other_code_are_told_apart(
    config: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "code_hash", lambda _arms: "another")
    done = completed("study", config, "-o", folder)
    assert "the code has changed since the runs" in done.output and "0 runs done" in done.output
    assert "the code changed between runs" in completed("compare", folder).output
    fresh = folder.with_name("fresh")
    assert "has changed" not in completed("study", config, "-o", fresh).output
    assert "has changed" not in completed("study", config, "-o", fresh).output


def test_what_decides_a_run_is_there_to_be_hashed() -> None:
    root = Path(__file__).parents[3]
    assert all(any((root / place).rglob("*.py")) or (root / place).is_file() for place in DECIDING)


def test_another_studys_folder_is_refused(config: Path, folder: Path) -> None:
    other = config.with_name("other.toml")
    other.write_text(config.read_text().replace('name = "', 'name = "other_'))
    done = rooftree("study", other, "-o", folder)
    refused(done, "holds the study")
    assert "name another folder with -o" in done.output


def test_another_constant_is_another_run(config: Path, folder: Path) -> None:
    config.write_text(config.read_text().replace("[arms.tree]", "[arms.tree.settings]\npatience=3"))
    study(config)
    assert len(lines_of(folder)) == 18 + 6
    completed("compare", folder)


def test_processes_change_nothing(config: Path, folder: Path) -> None:
    completed("study", config, "-o", config.parent / "two_jobs", "--jobs", 2, columns=200)
    assert same(lines_of(config.parent / "two_jobs"), lines_of(folder))


def test_a_torn_last_line_is_run_again(config: Path, folder: Path) -> None:
    whole = lines_of(folder)
    path = folder / RESULTS_FILE
    path.write_bytes(path.read_bytes()[:-40])
    assert len(lines_of(folder)) == 17
    completed("compare", folder)
    study(config)
    assert same(lines_of(folder), whole)


def test_what_was_written_without_checksums_is_read(folder: Path) -> None:
    before, plan = lines_of(folder), StudyFolder(folder).plan()
    results, study_file = folder / RESULTS_FILE, folder / STUDY_FILE
    old = [json.loads(line) for line in results.read_text().splitlines()]
    assert all(line.pop("checksum") for line in old)
    results.write_text("".join(json.dumps(line) + "\n" for line in old))
    written = json.loads(study_file.read_text())
    assert written.pop("checksum")
    study_file.write_text(json.dumps(written))
    assert (lines_of(folder), StudyFolder(folder).plan()) == (before, plan)


def test_a_plug_in_that_an_arm_is_of_is_part_of_the_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / "my_search.py"
    module.write_text("def mine():\n    return 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    points = [EntryPoint("mine", "my_search:mine", "rooftree.searches")]
    monkeypatch.setattr(
        "importlib.metadata.entry_points",
        lambda *, group: points if group == "rooftree.searches" else [],
    )
    ours, mine = [Arm()], [Arm(), Arm(search="mine")]
    before = code_hash(ours), code_hash(mine)
    assert before[0] != before[1]
    module.write_text("def mine():\n    return 2\n")
    assert code_hash(ours) == before[0] and code_hash(mine) != before[1]


def test_a_line_that_lost_its_checksum_is_named(folder: Path) -> None:
    results = folder / RESULTS_FILE
    lines = [json.loads(line) for line in results.read_text().splitlines()]
    assert lines[2].pop("checksum")
    results.write_text("".join(json.dumps(line) + "\n" for line in lines))
    refused(rooftree("compare", folder), f"{results}, line 3: it has lost its checksum")


def test_a_killed_study_goes_on(config: Path, finished: Path) -> None:
    folder = config.parent / "killed"
    command = [sys.executable, "-m", "experiments", "study", config, "-o", folder, "--jobs", "2"]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
    results = folder / RESULTS_FILE
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if results.exists() and results.read_bytes().count(b"\n") >= 4:
            break
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    there = results.read_bytes()
    completed("study", config, "-o", folder, "--jobs", 1, columns=200)
    assert results.read_bytes().startswith(there[: there.rfind(b"\n") + 1])
    assert same(lines_of(folder), lines_of(finished))


def test_compare_writes_table_csv_json_and_page(folder: Path) -> None:
    done = completed("compare", folder, columns=200)
    for word in ("hill", "many", "p (Holm)", "win/tie/loss", "task by task", "underpowered"):
        assert word in done.output
    rows = list(csv.DictReader((folder / "compare.csv").open()))
    assert {(row["arm"], row["measure"]) for row in rows} == {
        (arm, measure) for arm in ("hill", "many") for measure in ("6", "budget", "target")
    }
    document = json.loads((folder / "compare.json").read_text())
    assert len(document["contests"]) == len(rows)
    page = (folder / "compare.html").read_text()
    # One overall chart, one per task, and a forest per measure; nothing is fetched.
    assert page.count("<svg") == 3 + 3
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    printed = json_of("compare", folder)
    assert printed == document


def test_another_reference_turns_the_ratio_round(folder: Path) -> None:
    one = json_of("compare", folder)["contests"]
    other = json_of("compare", folder, "--reference", "hill")["contests"]
    for contest in (one, other):
        assert {row["pairs"] for row in contest} == {6}
    forth = next(row for row in one if row["arm"] == "hill" and row["measure"] == TARGET)
    back = next(row for row in other if row["arm"] == "tree" and row["measure"] == TARGET)
    assert forth["ratio"] == pytest.approx(1 / back["ratio"])
    assert forth["p"] == pytest.approx(back["p"])
    assert (forth["wins"], forth["losses"]) == (back["losses"], back["wins"])


def test_an_arm_against_itself_is_all_ties(config: Path) -> None:
    config.write_text(config.read_text() + "[arms.twin]\n")
    found = json_of("compare", study(config))
    assert any("tree and twin did the same in all" in said for said in found["warnings"])
    assert not any("tree and hill did the same" in said for said in found["warnings"])
    rows = found["contests"]
    twins = [row for row in rows if row["arm"] == "twin"]
    assert twins
    for row in twins:
        assert (row["ratio"], row["p"], row["ties"]) == (1.0, 1.0, row["pairs"])


# Pairing.


def made(plan: Plan, value: Callable[[str, int], dict[str, Any]]) -> list[CellResult]:
    """A line per cell, with what `value` says for its arm and seed."""
    fixed = {"unique": 12, "failed": 0, "trials": 12, "stopped": "", "digest": "", "seconds": 0.0}
    return [
        CellResult(key=cell.key, arm=cell.arm, task=cell.task, seed=cell.seed, **fixed, **found)
        for cell in cells_of(plan)
        if (found := value(cell.arm, cell.seed))
    ]


def test_pairs_are_of_one_task_and_seed_whatever_the_order(config: Path) -> None:
    plan = plan_of(read_study(config), version="1")

    def value(arm: str, seed: int) -> dict[str, Any]:
        if arm == "hill" and seed == 1:
            return {}
        speedup = (2.0 if arm == "tree" else 1.0) * 3.0**seed
        return {"best": ((1, speedup),), "to_target": None}

    lines = made(plan, value)
    for order in (lines, lines[::-1]):
        found = differences(plan, runs_of(plan, order), "hill", "6")
        assert {task: len(pairs) for task, pairs in found.items()} == {"one": 2, "two": 2}
        assert all(pairs == pytest.approx(math.log(2)) for pairs in found.values())
    contest = next(c for c in compare(plan, lines).contests if c.arm == "hill")
    assert contest.ratio == pytest.approx(2)
    assert (contest.wins, contest.pairs) == (4, 4)


def test_a_run_that_misses_the_target_loses_to_one_that_reaches_it(
    config: Path,
) -> None:
    plan = plan_of(read_study(config), version="1")
    arrivals = {"tree": 12, "hill": None, "many": None}

    def value(arm: str, seed: int) -> dict[str, Any]:
        return {"best": (), "to_target": arrivals[arm]}

    lines = made(plan, value)
    against = {c.arm: c for c in compare(plan, lines).contests if c.measure == TARGET}
    assert against["hill"].wins == 6
    assert against["hill"].ratio == pytest.approx(13 / 12)
    swapped = compare(plan, lines, reference="hill").contests
    assert next(c for c in swapped if c.arm == "many" and c.measure == TARGET).ties == 6


def test_differences_inside_the_noise_are_ties(config: Path) -> None:
    plan = plan_of(read_study(config), version="1")

    def value(arm: str, seed: int) -> dict[str, Any]:
        return {"best": ((1, 2.0 if arm == "tree" else 1.99),), "to_target": 3}

    contest = next(c for c in compare(plan, made(plan, value)).contests if c.measure == "6")
    assert (contest.wins, contest.ties, contest.p) == (0, 6, 1.0)


def test_a_study_says_what_it_cannot_say(config: Path) -> None:
    plan = plan_of(read_study(config), version="1")
    lines = made(plan, lambda arm, seed: {"best": ((1, 2.0 + seed),), "to_target": 3})
    said = " ".join(compare(plan, lines[:-2]).warnings)
    assert "2 of 18 runs are missing" in said
    assert "underpowered" in said
    assert "2 tasks cannot speak for others" in said
    assert "runs end before" not in said


def test_a_number_beyond_a_small_space_is_told(config: Path) -> None:
    config.write_text(config.read_text().replace("at = [6]", "at = [6, 150]"))
    plan = plan_of(read_study(config), version="1")
    lines = made(plan, lambda arm, seed: {"best": ((1, 2.0 + seed),), "to_target": 3})
    told = [words for words in compare(plan, lines).warnings if "runs end before" in words]
    ends = "runs end before (one after 143, two after 143), and count with what they ended with"
    assert told == [f"speedup at 150: {ends}"]


# What cannot be run.


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ('reference = "tree"', 'reference = "oak"', "oak"),
        ('search = "greedy"', 'search = "greedi"', "arm hill: unknown search 'greedi'"),
        ('search = "greedy"', "settings = { patience = 0 }", "arm hill: search setting"),
        ('search = "greedy"', "settings = { colour = 1 }", "has no setting 'colour'"),
        ('search = "greedy"', "settings = { patience = 2.5 }", "patience is a whole number"),
        ('search = "greedy"', 'proposer = "llm"', "arm hill"),
        ('search = "greedy"', "speed = 1", "speed"),
        ('"one.json"', '"none.json"', "none.json does not exist"),
        ("budget = 12", "budget = 0", "at least one evaluation"),
        ("budget = 12", "budget = 500", "budget: 500 is beyond most, 200"),
        ("at = [6]", "at = [6, 400]", "at: 400 is beyond most, 200"),
        ("budget = 12", "budget = 12\nmatters = inf", "matters"),
        ('search = "greedy"', "settings = { exploration = nan }", "exploration"),
        ("seeds = 3", "seeds = ", "is not TOML"),
    ],
)
def test_a_configuration_that_cannot_be_run(
    config: Path, before: str, after: str, words: str
) -> None:
    config.write_text(config.read_text().replace(before, after))
    done = rooftree("study", config, "-o", config.parent / "out")
    refused(done)
    assert done.output.count("\n") == 1
    assert words in done.output
    assert not (config.parent / "out").exists()


def test_a_folder_with_something_else_is_left_alone(config: Path) -> None:
    folder = config.parent / "mine"
    folder.mkdir()
    (folder / "letter.txt").write_text("dear")
    refused(rooftree("study", config, "-o", folder), "holds something else")
    assert [path.name for path in folder.iterdir()] == ["letter.txt"]


def test_a_folder_in_use_is_refused(config: Path, folder: Path) -> None:
    with StudyFolder(folder).held():
        done = rooftree("study", config, "-o", folder)
    assert done.exit_code == 2
    assert "in use" in done.output


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda folder: (folder / STUDY_FILE).unlink(), "not a study's folder"),
        (lambda folder: (folder / STUDY_FILE).write_text("{"), "is damaged"),
        (lambda folder: (folder / STUDY_FILE).write_text('{"format": 99}'), "newer Rooftree"),
        (lambda folder: (folder / STUDY_FILE).write_text('{"format": 1}'), STUDY_FILE),
        (lambda folder: (folder / RESULTS_FILE).unlink(), "no result yet"),
        (
            lambda folder: (folder / RESULTS_FILE).write_text(
                "nonsense\n" + (folder / RESULTS_FILE).read_text()
            ),
            "line 1",
        ),
        (
            lambda folder: (folder / RESULTS_FILE).write_text(
                re.sub('"unique":', '"unique":1', (folder / RESULTS_FILE).read_text(), count=1)
            ),
            "line 1: its content was changed after it was written; take the line out",
        ),
        (
            lambda folder: (folder / STUDY_FILE).write_text(
                re.sub('"optimum_us": ', '"optimum_us": 1', (folder / STUDY_FILE).read_text())
            ),
            "study.json is damaged: its content was changed",
        ),
    ],
)
def test_a_spoiled_folder_is_named(
    folder: Path, spoil: Callable[[Path], object], words: str
) -> None:
    spoil(folder)
    refused(rooftree("compare", folder), words)


# What an arm's proposer is told.


ROOFLINE = Roofline(
    bound="memory",
    confidence=1.0,
    gap=AxisGap(compute=0.5, memory=0.5, latency=0.5),
    near_peak=False,
    method_budget={"memory": 1},
)


class Listener(Proposer):
    name, inline = "listener", True

    def __init__(self) -> None:
        self.heard: ProposalRequest | None = None

    def propose(self, request: ProposalRequest) -> Proposal:
        self.heard = request
        return Proposal(candidate=request.parent)


@pytest.mark.parametrize(
    ("guidance", "lessons", "history", "told"),
    [
        ("tools", False, True, {"notes", "roofline", "profile", "history"}),
        ("tools", True, False, {"notes", "roofline", "profile", "lessons"}),
        ("roofline", True, True, {"roofline", "profile", "lessons", "history"}),
        ("counters", True, True, {"profile", "lessons", "history"}),
        ("none", False, False, set()),
    ],
)
def test_an_ablation_takes_away_what_it_says(
    guidance: Any, lessons: bool, history: bool, told: set[str]
) -> None:
    task = toy_task()
    request = ProposalRequest(
        task=task,
        parent=task.baseline,
        evaluation=ToyEvaluator().evaluate(task.baseline),
        guidance=Guidance(roofline=ROOFLINE, notes=("a word",)),
        lessons=(Lesson(state=StateSignature(), method="m", outcome="improved", gain=2.0),),
        move=Move("improve", 0),
        profile=Profile(missing={"ncu": "none"}),
        history=(Attempt(candidate=task.baseline),),
    )
    listener = Listener()
    AblatedProposer(listener, guidance=guidance, lessons=lessons, history=history).propose(request)
    heard = listener.heard
    assert heard is not None
    assert told == {
        *(["notes"] if heard.guidance.notes else []),
        *(["roofline"] if heard.guidance.roofline else []),
        *(["profile"] if heard.profile else []),
        *(["lessons"] if heard.lessons else []),
        *(["history"] if heard.history else []),
    }
    kept = {
        "guidance": request.guidance,
        "lessons": request.lessons,
        "profile": request.profile,
        "history": request.history,
    }
    assert dataclasses.replace(heard, **kept) == request


@pytest.mark.parametrize("name", ["search", "feedback", "memory", "mechanisms", "leaps"])
def test_the_shipped_studies_can_be_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    study = read_study(ROOT / "experiments" / "benchmarks" / "studies" / f"{name}.toml")
    if any(arm.proposer == "tpe" for arm in study.arms.values()):
        pytest.importorskip("optuna")
    plan = plan_of(study, version="1")
    assert study.seeds >= 30
    assert len(plan.keys) == len(study.arms) * len(plan.tasks) * study.seeds


def test_bundled_studies_are_run_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "search" in bundled_studies() and "parallel" in bundled_studies()
    for name, path in bundled_studies().items():
        assert find_study(name) == find_study(f"{name}.toml") == path
        if "kind" not in read_table(path):
            assert read_study(path).name == name
    asked: list[Path] = []

    def read(path: Path) -> Study:
        asked.append(path)
        raise InputError("far enough")

    monkeypatch.setattr(study_command, "read_study", read)
    assert "far enough" in rooftree("study", "search.toml").output
    assert asked == [bundled_studies()["search"]]


def test_the_example_of_a_warm_study_needs_what_was_learned(tmp_path: Path) -> None:
    path = shutil.copy(ROOT / "docs" / "examples" / "warm.toml", tmp_path)
    with pytest.raises(InputError, match=r"knowledge\.jsonl"):
        read_study(Path(path))
    (tmp_path / "knowledge.jsonl").write_text("")
    assert read_study(Path(path)).arms["warm"].memory == str(tmp_path / "knowledge.jsonl")


def test_a_users_file_comes_before_a_bundled_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "search.toml").write_text("")
    (tmp_path / "memory").mkdir()
    assert find_study("search.toml") == Path("search.toml")
    assert find_study("memory") == bundled_studies()["memory"]


@pytest.mark.parametrize("given", ["nowhere/search.toml", "serch", "serch.toml"])
def test_an_unknown_study_is_refused_with_the_known_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.chdir(tmp_path)
    refused(
        rooftree("study", given),
        f"{given} does not exist",
        "bundled studies: advice, early_stop, early_stop_model, expansions, "
        "expansions_openings, expansions_search, feedback, first_prompt, headline, hub, "
        "implementations, leaps, mechanisms, memory, model_memory, model_search, modules, "
        "openings, parallel, search, sharper, told, trained, values",
        "did you mean search?",
    )
    assert not (tmp_path / "studies").exists()


def test_a_study_of_two_lines_is_compared_without_a_chart_over_all_tasks(folder: Path) -> None:
    path = folder / RESULTS_FILE
    lines = [json.loads(text) for text in path.read_text().splitlines()]
    first = [one for one in lines if (one["task"], one["seed"]) == (lines[0]["task"], 0)]
    path.write_text("".join(json.dumps(one) + "\n" for one in first))
    completed("compare", folder)
    curves = json.loads((folder / "compare.json").read_text())["curves"]
    assert len({one["task"] for one in lines}) > 1
    assert "" not in [chart["task"] for chart in curves]


def test_an_arm_without_implementations_is_for_the_proposer_that_knows_them() -> None:
    task, hardware = toy_task(), Hardware(name="toy device")
    arm = Arm(implementations=False)
    plain, other = proposer_of(Arm(), task, hardware), proposer_of(arm, task, hardware)
    assert isinstance(plain, ScriptedProposer) and isinstance(other, ScriptedProposer)
    assert (plain._implementations, other._implementations) == (True, False)
    with pytest.raises(InputError, match="implementations = false is for proposer scripted"):
        proposer_of(arm.model_copy(update={"proposer": "uniform"}), task, hardware)
