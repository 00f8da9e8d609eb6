"""A study in the repository prints what it printed where it was run, and names no path of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from experiments.benchmarks.evidence.publishing import publish, publish_measurements
from experiments.benchmarks.measurements.store import MEASUREMENTS_FILE, MeasurementStore
from experiments.runs.tasks.files import bundled
from mcts.errors import InputError
from tests.support.commands import completed

STUDY = """
seeds = 2
budget = 5
reference = "tree"
tasks = ["copied"]

[arms.tree]
[arms.greedy]
search = "greedy"
"""


def test_a_published_study_prints_the_same_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(bundled()["transpose"], "copied")
    Path("small.toml").write_text(STUDY)
    completed("study", "small.toml", "-o", "st")
    publish(Path("st"), Path("published"), root=tmp_path)
    assert str(tmp_path) not in Path("published/study.json").read_text()
    here, there = completed("compare", "st", "--json"), completed("compare", "published", "--json")
    assert here.stdout == there.stdout.replace('"copied"', f'"{tmp_path / "copied"}"')
    with pytest.raises(InputError, match="lies outside of"):
        publish(Path("st"), Path("other"), root=tmp_path / "elsewhere")
    with pytest.raises(InputError, match="not a study's folder"):
        publish(Path("copied"), Path("other"), root=tmp_path)


def test_published_measurements_leave_out_what_others_have_and_the_code_of_problems(
    tmp_path: Path,
) -> None:
    (tmp_path / "st").mkdir()
    entries = {
        "problem": "class Model(nn.Module): pass",
        "old": "class ModelNew(nn.Module): 1",
        "new": "class ModelNew(nn.Module): 2",
    }
    store, other = (
        MeasurementStore(path)
        for path in (tmp_path / "st" / MEASUREMENTS_FILE, tmp_path / "other.sqlite")
    )
    for name, source in entries.items():
        store.keep("task", name, "candidate", {"source": source}, seconds=0.0)
        store.keep("task", name, "evaluation", {"status": name}, seconds=2.0)
    other.keep("task", "old", "candidate", {"source": entries["old"]}, seconds=0.0)
    other.keep("task", "old", "evaluation", {"status": "old"}, seconds=2.0)
    other.keep("task", "new", "evaluation", {"status": "before it was measured again"}, seconds=2.0)
    other.close()
    (tmp_path / "out").mkdir()
    count = publish_measurements(tmp_path / "st", tmp_path / "out", [tmp_path / "other.sqlite"])
    store.close()
    assert [path.name for path in (tmp_path / "out").iterdir()] == [MEASUREMENTS_FILE]
    published = MeasurementStore(tmp_path / "out" / MEASUREMENTS_FILE, read_only=True)
    assert count == 3 and published.seconds == 4.0
    assert published.find("task", "problem", "candidate") is None
    assert published.find("task", "problem", "evaluation") == {"status": "problem"}
    assert published.find("task", "new", "candidate") == {"source": entries["new"]}
    assert published.find("task", "new", "evaluation") == {"status": "new"}
    assert published.find("task", "old", "evaluation") is None
    published.close()
    with pytest.raises(InputError, match="has measured nothing"):
        publish_measurements(tmp_path / "nowhere", tmp_path / "out", [])
