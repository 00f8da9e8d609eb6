"""What earlier versions wrote goes on as it began, under the names of now.

`tests/data/old_runs/leaps` was made by 0.1.0 before the searches became equals, with
`optimize row_softmax --evaluations 6 --search leaps=0 --search calibrated_reward=0`.
"""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest

from experiments.benchmarks.studies.arms import settings_of
from experiments.benchmarks.studies.config import Arm
from experiments.runs.folders.journal import SqliteJournal, read_events
from experiments.runs.options.config import read_config
from experiments.runs.tasks.files import bundled
from experiments.runs.wiring.choosing import resolve_settings
from experiments.views.tree.given_up import given_up
from mcts.errors import InputError
from mcts.journal.record import read_result
from mcts.journal.runlog import as_started_now
from mcts.loop.reward import RewardSettings
from mcts.options.search import Algorithm
from mcts.search.greedy import GreedySettings
from mcts.search.puct import PuctSettings
from tests.support.commands import completed, rooftree

OLD = Path(__file__).parents[2] / "data" / "old_runs" / "leaps"


@pytest.fixture
def old_run(tmp_path: Path) -> Path:
    run = tmp_path / "old"
    task = bundled()["row_softmax"]
    shutil.copytree(task, run / "task", ignore=shutil.ignore_patterns("recordings"))
    config = (OLD / "config.toml").read_text().replace("{TASKS}", str(task.parent))
    (run / "config.toml").write_text(config)
    journal = SqliteJournal(run / "run.sqlite")
    for line in gzip.decompress((OLD / "journal.jsonl.gz").read_bytes()).splitlines():
        journal.append(*json.loads(line))
    journal.close()
    return run


def test_it_resumes_with_its_nodes_as_they_were(old_run: Path, tmp_path: Path) -> None:
    """What tools say has changed since, so that a new run need not begin as this one did."""
    again = tmp_path / "again"
    shutil.copytree(old_run, again)
    before = read_result(read_events(old_run))
    for run in (old_run, again):
        completed("resume", run, "--evaluations", 12, "--quiet")
    resumed, other = (read_result(read_events(run)) for run in (old_run, again))
    assert (before.evaluations, resumed.evaluations) == (6, 12)
    kept = resumed.nodes[: len(before.nodes)]
    assert [(one.id, one.parent, one.candidate) for one in kept] == [
        (one.id, one.parent, one.candidate) for one in before.nodes
    ]
    assert [one.evaluation for one in kept] == [one.evaluation for one in before.nodes]
    assert resumed.tree_digest == other.tree_digest


def test_it_is_not_resumed_with_other_constants(old_run: Path) -> None:
    config = old_run / "config.toml"
    config.write_text(config.read_text().replace("calibrated_reward = 0", "stepped_reward = 0"))
    done = rooftree("resume", old_run, "--evaluations", 12)
    assert done.exit_code and "was started with reward = " in done.output


def test_its_configuration_and_journal_are_read_with_todays_names(old_run: Path) -> None:
    constants = {"expected_improvement": 0, "calibrated_reward": 0}
    assert read_config(old_run / "config.toml").search.algorithm.constants == constants
    started = as_started_now(next(iter(read_events(old_run))).payload)
    assert started["search"] == "PuctSettings"
    assert PuctSettings(**started["settings"]) == PuctSettings(expected_improvement=False)
    assert started["reward"] == {
        "calibrated_reward": False,
        "stepped_reward": True,
        "open_reward": False,
        "own_times": False,
    }
    assert given_up(read_events(old_run)) == frozenset()


def test_a_setting_under_both_its_names_is_refused() -> None:
    with pytest.raises(InputError, match="leaps is an older name of expected_improvement"):
        Algorithm(constants={"leaps": 0, "expected_improvement": 1})


def test_only_the_tree_search_had_leaps() -> None:
    written = {"search": "SettingsOfOthers", "settings": {"leaps": 3}}
    assert as_started_now(written)["settings"] == {"leaps": 3}


def test_an_arm_of_a_study_may_use_the_old_names() -> None:
    search, reward = settings_of(Arm(settings={"leaps": 0, "stepped_reward": 0, "endgame": 0.5}))
    assert reward == RewardSettings(stepped_reward=False)
    assert search == PuctSettings(expected_improvement=False, endgame=0.5)
    assert settings_of(Arm(settings={"endgame": 0.5}), length=9)[0].horizon == 9  # type: ignore[attr-defined]


def test_the_reward_is_set_with_any_search() -> None:
    search, reward = resolve_settings(
        Algorithm(name="greedy", constants={"calibrated_reward": 0, "repairs": 2})
    )
    assert (search, reward) == (GreedySettings(repairs=2), RewardSettings(calibrated_reward=False))
    with pytest.raises(InputError, match="no setting 'leaps': it has repairs, calibrated_reward"):
        resolve_settings(Algorithm(name="greedy", constants={"leaps": 0}))
