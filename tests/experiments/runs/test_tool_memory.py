"""What advice was worth: counted once, per tool, GPU and proposer, and never at a run's expense."""

from __future__ import annotations

import json
import math
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from experiments.runs.memory.advice import Firing, FollowUp, firings, follow_ups
from experiments.runs.memory.tools import ToolMemory, default_path
from mcts.domain import Candidate, Evaluation, Finding, Guidance, Timing, Verification
from mcts.errors import InputError, WorldError
from mcts.journal.record import NodeRecord, Result
from tests.support.commands import completed, json_of, refused, rooftree


def evaluation(us: float, *, spread: float = 0.01) -> Evaluation:
    timing = Timing(
        median_us=us, low_us=us * (1 - spread), high_us=us * (1 + spread), baseline_us=100.0,
        speedup=100 / us, speedup_low=90 / us, speedup_high=110 / us, rounds=5,
    )  # fmt: skip
    passed = Verification(passed=True, rounds=1)
    return Evaluation(candidate_id="c", status="measured", verification=passed, timing=timing)


def node(
    id: int,
    *,
    us: float | None,
    methods: tuple[str, ...] = (),
    tools: dict[str, tuple[str, ...]] | None = None,
    kind: str = "measured",
) -> NodeRecord:
    findings = tuple(
        Finding(tool=tool, axis="memory", strength=0.5, evidence=(), advice="do", methods=answers,
                expected_gain=2.0)
        for tool, answers in (tools or {}).items()
    )  # fmt: skip
    failed = Evaluation(candidate_id="c", status="runtime_error", message="it fell over")
    return NodeRecord(
        id=id, parent=None if id == 0 else 0, kind=kind,  # type: ignore[arg-type]
        candidate=Candidate(source=str(id), methods=methods),
        evaluation=evaluation(us) if us else failed,
        guidance=Guidance(findings=findings) if tools else None,
        reward=0.0, prior=0.5, visits=1, value=0.0,
    )  # fmt: skip


def result(*nodes: NodeRecord) -> Result:
    return Result(
        nodes=nodes, stop_reason="", evaluations=len(nodes) - 1, unique=0, failed=0, seconds=0.0,
        tree_digest="",
    )  # fmt: skip


PARENT = node(0, us=100.0, tools={"coalescing": ("a", "b"), "tail_wave": ("c",)})


def test_a_child_follows_the_findings_whose_methods_it_claims() -> None:
    run = result(
        PARENT,
        node(1, us=50.0, methods=("b",)),
        node(2, us=100.5, methods=("a", "c")),
        node(3, us=None, methods=("c",)),
        node(4, us=130.0, methods=("c",)),
        node(5, us=10.0, methods=("elsewhere",)),
        node(6, us=10.0, methods=("a",), kind="duplicate"),
    )
    found = [(one.child, one.tool, one.outcome) for one in follow_ups(run)]
    assert found == [
        (1, "coalescing", "improved"),
        (2, "coalescing", "neutral"),
        (2, "tail_wave", "neutral"),
        (3, "tail_wave", "failed"),
        (4, "tail_wave", "regressed"),
    ]
    assert next(follow_ups(run)).gain == pytest.approx(2.0)
    assert [(one.node, one.tool) for one in firings(run)] == [(0, "coalescing"), (0, "tail_wave")]


def teach(memory: ToolMemory, run: str, gains: list[float | None], *, gpu: str = "G") -> None:
    memory.learn(
        run, gpu=gpu, proposer="p", fired=[Firing(0, "t", 0.5, 2.0), Firing(1, "t", 0.5, None)],
        followed=[
            FollowUp(i, "t", 2.0, "failed" if gain is None else "improved", gain)
            for i, gain in enumerate(gains)
        ],
    )  # fmt: skip


def test_statistics_are_geometric_and_count_failures(tmp_path: Path) -> None:
    with ToolMemory(tmp_path / "m.sqlite") as memory:
        teach(memory, "one", [1.0, 4.0, None])
        (row,) = memory.statistics()
    assert (row.fired, row.followed, row.improved, row.great, row.failed) == (2, 3, 2, 1, 1)
    assert row.mean_gain == pytest.approx(2.0) and row.mean_log_gain == pytest.approx(math.log(2))
    assert row.predicted_gain == pytest.approx(2.0) and row.realised_gain == pytest.approx(2.0)


def test_a_run_taught_again_replaces_what_it_taught_before(tmp_path: Path) -> None:
    with ToolMemory(tmp_path / "m.sqlite") as memory:
        teach(memory, "one", [1.0])
        teach(memory, "one", [1.0, 2.0])
        teach(memory, "two", [3.0])
        (row,) = memory.statistics()
    assert (row.fired, row.followed) == (4, 3)


def test_gpus_are_kept_apart(tmp_path: Path) -> None:
    with ToolMemory(tmp_path / "m.sqlite") as memory:
        teach(memory, "one", [1.0], gpu="A")
        teach(memory, "two", [2.0], gpu="B")
        (row,) = memory.statistics(gpu="B")
        assert memory.statistics(gpu="B", proposer="someone else") == []
    assert row.mean_gain == pytest.approx(2.0)


def test_two_runs_may_teach_at_the_same_time(tmp_path: Path) -> None:
    path = tmp_path / "m.sqlite"
    with ToolMemory(path) as one, ToolMemory(path) as other:
        teach(one, "one", [1.0])
        teach(other, "two", [2.0])
        assert one.statistics()[0].followed == 2


def test_memory_tools_prints_what_a_replay_taught(tmp_path: Path) -> None:
    memory, out = tmp_path / "m.sqlite", tmp_path / "run"
    words = ("optimize", "row_softmax", "--evaluations", 25, "--memory", memory, "--out", out)
    completed(*words)
    tools = json_of("memory", "tools", "--memory", memory)["tools"]
    assert tools and all(row["fired"] > 0 for row in tools)
    assert any(row["followed"] > 0 and row["mean_gain"] > 0 for row in tools)
    table = completed("memory", "tools", "--memory", memory, columns=200)
    assert tools[0]["tool"] in table.stdout and "followed" in table.stdout
    # What the run began with is in its configuration, so that a resumed one ranks alike.
    assert str(memory) in (out / "config.toml").read_text()


def test_a_replay_neither_reads_nor_writes_a_memory_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    completed("optimize", "row_softmax", "--evaluations", 3, "--out", tmp_path / "run")
    assert not (tmp_path / "data").exists()
    assert "holds nothing yet" in completed("memory", "tools").stdout
    assert not (tmp_path / "data").exists()


def test_a_memory_in_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    memory, out = tmp_path / "misspelt" / "m.sqlite", tmp_path / "run"
    done = rooftree("optimize", "row_softmax", "--memory", memory, "--out", out)
    refused(done, f"there is no folder {memory.parent}")
    assert not out.exists() and not memory.parent.exists()
    with pytest.raises(InputError, match="there is no folder"):
        ToolMemory(memory)


def test_the_users_own_memory_makes_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    words = ("optimize", "row_softmax", "--evaluations", 3, "--memory", default_path())
    completed(*words, "--out", tmp_path / "run")
    assert default_path().is_file()


def test_a_memory_that_cannot_be_written_does_not_fail_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise WorldError("the disk is full")

    monkeypatch.setattr(ToolMemory, "learn", refuse)
    words = ("optimize", "row_softmax", "--evaluations", 3, "--memory", tmp_path / "m.sqlite")
    run = completed(*words, "--out", tmp_path / "run", "--json")
    assert json.loads(run.stdout)["evaluations"] == 3
    assert "nothing was remembered: the disk is full" in run.stderr


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE follow_up SET gain = 9 * gain WHERE run = 'a b'",
        "DELETE FROM firing WHERE run = 'a b'",
    ],
)
def test_changed_rows_of_a_run_are_named_and_can_be_forgotten(
    tmp_path: Path, statement: str
) -> None:
    path = tmp_path / "m.sqlite"
    run = result(PARENT, node(1, us=50.0, methods=("b",)))
    with ToolMemory(path) as memory:
        for name in ("a b", "c"):
            found = {"fired": firings(run), "followed": follow_ups(run)}
            memory.learn(name, gpu="G", proposer="p", **found)  # type: ignore[arg-type]
        whole = memory.statistics()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()
    refused(rooftree("memory", "tools", "--memory", path), f"the memory {path} is damaged",
            "in run a b was changed", f"forget --memory {path} --run 'a b'")  # fmt: skip
    completed("memory", "forget", "--memory", path, "--run", "a b")
    with ToolMemory(path) as memory:
        assert [row.fired for row in memory.statistics()] == [row.fired // 2 for row in whole]


def test_rows_that_an_older_version_wrote_count_without_a_checksum(tmp_path: Path) -> None:
    path = tmp_path / "m.sqlite"
    run = result(PARENT, node(1, us=50.0, methods=("b",)))
    with ToolMemory(path) as memory:
        memory.learn("old", gpu="G", proposer="p", fired=firings(run), followed=follow_ups(run))
        before = memory.statistics()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE advice_checksum")
        connection.execute("PRAGMA user_version = 2")
        connection.commit()
    with ToolMemory(path, readonly=True) as memory:
        assert memory.statistics() == before
    with ToolMemory(path) as memory:
        assert memory.statistics() == before
