"""Studies on recorded expansions: searches compared without a model or a GPU."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.benchmarks.expansions.file import bundled_expansions, write_expansions
from experiments.benchmarks.studies import statistics
from experiments.benchmarks.studies.config import bundled_studies, read_study
from experiments.benchmarks.studies.folder import RESULTS_FILE, StudyFolder
from experiments.benchmarks.studies.running import plan_of
from experiments.benchmarks.studies.statistics import signed_rank
from tests.support.commands import completed, json_of, refused, rooftree
from tests.support.expansions import small_tree

STUDY = """
kind = "expansions"
expansions = "some.jsonl.gz"
seeds = 8
budget = 5
at = [2]
reference = "tree"
[arms.tree]
settings = { expected_improvement = 0 }
[arms.hill]
search = "greedy"
[arms.wide]
search = "greedy"
parallel = 2
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    write_expansions(tmp_path / "some.jsonl.gz", [small_tree(), small_tree("gelu")])
    path = tmp_path / "mine.toml"
    path.write_text(STUDY)
    return path


def study(config: Path, *words: object) -> Path:
    folder = config.parent / "results"
    completed("study", config, "-o", folder, "--jobs", 1, *words, columns=200)
    return folder


def test_every_arm_has_its_trials_on_every_tree(config: Path) -> None:
    lines = list(StudyFolder(study(config)).lines())
    assert len(lines) == 3 * 2 * 8
    assert {line.task for line in lines} == {"softmax", "gelu"}
    assert {(line.trials, line.unique) for line in lines} == {(5, 5)}
    assert all(line.to_target is None and line.missing is not None for line in lines)
    assert all(line.best[-1][0] <= 5 for line in lines)


def test_a_tree_that_is_drained_ends_a_run_before_its_budget(config: Path) -> None:
    config.write_text(STUDY.replace("budget = 5", "budget = 50"))
    lines = list(StudyFolder(study(config)).lines())
    assert {(line.trials, line.stopped) for line in lines} == {(6, "nothing left to try")}
    assert {line.speedup_at(50) for line in lines} == {4.0}


def test_a_second_call_runs_only_what_is_new(config: Path) -> None:
    folder = study(config)
    before = (folder / RESULTS_FILE).read_bytes()
    study(config)
    assert (folder / RESULTS_FILE).read_bytes() == before
    write_expansions(config.parent / "some.jsonl.gz", [small_tree("gelu"), small_tree("relu")])
    study(config)
    after = (folder / RESULTS_FILE).read_bytes()
    assert after.startswith(before), "the tree of gelu is the same as before"
    assert len(list(StudyFolder(folder).lines())) == 3 * 2 * 8 + 3 * 8


def test_compare_shows_what_was_missing_and_no_target(config: Path) -> None:
    folder = study(config)
    done = completed("compare", folder, columns=200)
    for words in ("speedup at 2 trials", "speedup at the budget", "missing", "ended early"):
        assert words in done.output
    assert "target" not in done.output
    found = json_of("compare", folder)
    assert {row["measure"] for row in found["contests"]} == {"2", "budget"}
    assert {row["pairs"] for row in found["contests"]} == {2 * 8}
    assert all(row["missing"] is not None for row in found["standings"])
    assert all(row["trials"] == 5 for row in found["standings"])
    assert all(row["reached"] is None for row in found["standings"])
    page = (folder / "compare.html").read_text()
    assert page.count("<svg") == 3 + 2
    assert "random search" not in page and ">trials<" in page


def test_tasks_of_the_file_may_be_chosen(config: Path) -> None:
    config.write_text('tasks = ["gelu"]\n' + STUDY)
    assert [facts.name for facts in plan_of(read_study(config), version="1").tasks] == ["gelu"]


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("budget = 5\n", "", "budget: it is missing (how many trials a run has)"),
        ('expansions = "some.jsonl.gz"\n', "", "expansions: it is missing"),
        ("some.jsonl", "none.jsonl", "none.jsonl.gz does not exist"),
        ('kind = "expansions"', 'tasks = ["bundled"]', 'expansions are for kind = "expansions"'),
        (
            '"expansions"\n',
            '"expansion"\n',
            "kind = 'expansion': one of search, expansions",
        ),
        ("seeds", 'tasks = ["gel"]\nseeds', "holds no task 'gel'; did you mean gelu?"),
        ("parallel = 2", 'proposer = "tpe"', "arm wide: proposer decides nothing"),
        ("parallel = 2", "history = false", "arm wide: history decides nothing"),
        ('"greedy"\nparallel', '"greedi"\nparallel', "arm wide: unknown search 'greedi'"),
        ("parallel = 2", "settings = { colour = 1 }", "has no setting 'colour'"),
    ],
)
def test_what_cannot_be_run_is_refused(config: Path, before: str, after: str, words: str) -> None:
    assert before in STUDY
    config.write_text(STUDY.replace(before, after))
    refused(rooftree("study", config, "-o", config.parent / "out"), words)
    assert not (config.parent / "out").exists()


def test_a_damaged_file_is_told_before_anything_is_run(config: Path) -> None:
    file = config.parent / "some.jsonl.gz"
    file.write_bytes(file.read_bytes()[:-30])
    refused(rooftree("study", config, "-o", config.parent / "out"), "damaged or cut short")


def test_the_bundled_study_can_be_run(tmp_path: Path) -> None:
    found = read_study(bundled_studies()["expansions"])
    assert found.expansions == str(bundled_expansions()["kernelbench_h200"])
    plan = plan_of(found.model_copy(update={"seeds": 2}), version="1")
    assert len(plan.keys) == 4 * 6 * 2


def test_lines_of_other_studies_are_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(
        'tasks = ["row_softmax"]\nseeds = 1\nbudget = 2\nat = []\nreference = "a"\n'
        '[arms.a]\n[arms.b]\nsearch = "greedy"\n'
    )
    for text in (study(path) / RESULTS_FILE).read_text().splitlines():
        assert list(json.loads(text)) == [
            "key", "arm", "task", "seed", "best", "to_target", "unique", "failed", "trials",
            "stopped", "digest", "seconds", "checksum",
        ]  # fmt: skip


def test_many_pairs_are_judged_by_nearly_the_same_p(monkeypatch: pytest.MonkeyPatch) -> None:
    differences = [(-1) ** (number % 5 == 0 or number % 2) * number for number in range(1, 400)]
    exact = signed_rank(differences)
    monkeypatch.setattr(statistics, "MOST_EXACT", 100)
    assert signed_rank(differences).p == pytest.approx(exact.p, rel=0.05)
    assert signed_rank(differences)[1:] == exact[1:]
