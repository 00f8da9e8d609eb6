"""A study in the repository prints what it printed where it was run, and names no path of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from experiments.benchmarks.evidence.publishing import publish
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
