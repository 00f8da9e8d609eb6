"""Runs and studies that begin with what others learned, and teach in turn."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from click.testing import Result

from experiments.benchmarks.studies.cell import run_cell
from experiments.benchmarks.studies.config import read_study
from experiments.benchmarks.studies.running import cells_of, plan_of
from experiments.runs.memory.knowledge import KnowledgeStore, knowledge_from
from mcts.errors import InputError
from tests.support.commands import completed, failed, refused, rooftree


def search(task: str, memory: object, out: Path, *, evaluations: int = 15) -> Result:
    return rooftree(
        "optimize", task, "--evaluations", evaluations, "--memory", memory, "--out", out, "--json"
    )


def rationales(run_dir: Path) -> list[str]:
    with sqlite3.connect(run_dir / "run.sqlite") as connection:
        rows = connection.execute("SELECT payload FROM event WHERE kind = 'proposed' ORDER BY seq")
        return [json.loads(text)["candidate"]["rationale"] for (text,) in rows]


@pytest.fixture
def taught(tmp_path: Path) -> Path:
    """What one search of a task has taught."""
    memory = tmp_path / "taught.sqlite"
    assert search("transpose", memory, tmp_path / "first").exit_code == 0
    return memory


def test_a_run_teaches_what_came_of_each_method(taught: Path, tmp_path: Path) -> None:
    with KnowledgeStore(taught, readonly=True) as store:
        found = store.contributions()
    assert found and {one.task for one in found} == {"transpose"}
    assert all(one.state.bound != "unknown" and one.state.stall for one in found)
    assert any(one.predicted is not None for one in found)
    # Saying it again, as a resumed run does, adds nothing.
    completed("resume", tmp_path / "first")
    with KnowledgeStore(taught, readonly=True) as store:
        assert store.contributions() == found


def test_knowledge_changes_the_proposals_and_a_seed_repeats_them(
    taught: Path, tmp_path: Path
) -> None:
    export = tmp_path / "taught.jsonl"
    completed("memory", "export", export, "--memory", taught)
    found = {}
    for name in ("warm", "again"):
        memory = tmp_path / f"{name}.sqlite"
        completed("memory", "import", export, "--memory", memory)
        assert search("row_softmax", memory, tmp_path / name).exit_code == 0
        found[name] = rationales(tmp_path / name)
    search("row_softmax", "off", tmp_path / "cold")
    assert found["warm"] == found["again"] != rationales(tmp_path / "cold")


def test_a_resumed_run_keeps_the_knowledge_it_began_with(taught: Path, tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    copies = [tmp_path / "a.sqlite", tmp_path / "b.sqlite"]
    for copy in copies:
        copy.write_bytes(taught.read_bytes())
    search("row_softmax", copies[0], whole, evaluations=12)
    search("row_softmax", copies[1], parts, evaluations=5)
    completed("resume", parts, "--evaluations", 12)
    assert rationales(parts) == rationales(whole)
    (parts / "knowledge.json").unlink()
    failed(rooftree("resume", parts, "--evaluations", 14), "knowledge.json")


def test_a_run_goes_on_without_a_damaged_memory_if_told_to(taught: Path, tmp_path: Path) -> None:
    data = taught.read_bytes()
    taught.write_bytes(data[: len(data) // 2])
    before = taught.read_bytes()
    done = search("row_softmax", taught, tmp_path / "run")
    refused(done, "damaged", "--memory off")
    assert not done.stdout and not (tmp_path / "run").exists()
    assert search("row_softmax", "off", tmp_path / "run").exit_code == 0
    assert taught.read_bytes() == before


def test_a_study_leaves_out_what_the_task_itself_taught(taught: Path, tmp_path: Path) -> None:
    config = tmp_path / "study.toml"
    config.write_text(
        'tasks = ["transpose", "row_softmax"]\nseeds = 1\nbudget = 6\nat = []\n'
        'reference = "warm"\n[arms.warm]\nmemory = "taught.sqlite"\n[arms.cold]\n'
    )
    study = read_study(config)
    plan = plan_of(study, version="test")
    lines = {(cell.arm, cell.task): run_cell(cell) for cell in cells_of(plan)}
    own, other = [
        lines["warm", task].digest == lines["cold", task].digest
        for task in ("transpose", "row_softmax")
    ]
    assert own and not other
    assert not knowledge_from(str(taught), besides="transpose")
    config.write_text(config.read_text().replace("taught.sqlite", "gone.sqlite"))
    with pytest.raises(InputError, match=r"gone\.sqlite"):
        read_study(config)


def test_a_memory_learns_from_a_run_that_had_none_what_it_would_have_taught(
    taught: Path, tmp_path: Path
) -> None:
    run = tmp_path / "off"
    assert search("transpose", "off", run).exit_code == 0
    memory = tmp_path / "late.sqlite"
    assert "of 1 runs added" in completed("memory", "learn", run, "--memory", memory).output
    assert known(memory) == known(taught) != set()
    assert completed("memory", "learn", run, "--memory", memory).output.startswith("0 ")
    done = completed("memory", "tools", "--memory", memory, "--json")
    tools = completed("memory", "tools", "--memory", taught, "--json")
    assert json.loads(done.stdout)["tools"] == json.loads(tools.stdout)["tools"]
    none = tmp_path / "none.sqlite"
    refused(rooftree("memory", "learn", run, tmp_path, "--memory", none), "is not a run folder")
    assert not none.exists(), "all of them or nothing"


def known(memory: Path) -> set[tuple[object, ...]]:
    """What a memory holds, but for the run it is of."""
    with KnowledgeStore(memory, readonly=True) as store:
        return {
            (one.node, one.task, one.gpu, one.proposer, str(one.state), one.method, one.gain)
            for one in store.contributions()
        }
