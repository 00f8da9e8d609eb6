"""The memory's file: shared by processes, merged in any order, never damaged by us."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from experiments.runs.folders.snapshot import read_snapshot, write_snapshot
from experiments.runs.memory import knowledge as stores
from experiments.runs.memory.database import MemoryUnavailable, open_memory
from experiments.runs.memory.experience import experience_rows
from experiments.runs.memory.export import lines_of, parse_line, read_lines
from experiments.runs.memory.knowledge import ForgetFilter, KnowledgeStore, knowledge_from
from experiments.runs.memory.tools import ToolMemory
from mcts.domain import StateSignature
from mcts.errors import InputError, WorldError
from mcts.knowledge.base import Knowledge
from mcts.knowledge.contribution import Contribution
from tests.support.commands import completed, json_of, refused, rooftree

DRAM = StateSignature(bound="memory", level="DRAM", secondary="coalescing")


def one(node: int, *, task: str = "scale", run: str = "run", gain: float | None = 1.25,
        method: str = "memory.vectorized_loads") -> Contribution:  # fmt: skip
    return Contribution(
        run=run, node=node, task=task, gpu="H200", proposer="scripted", state=DRAM, method=method,
        outcome="failed" if gain is None else "improved", gain=gain, predicted=1.1,
    )  # fmt: skip


MANY = [one(n, task=f"t{n % 3}", run=f"r{n % 2}", gain=None if n % 4 == 0 else 1.0 + n / 10)
        for n in range(1, 25)]  # fmt: skip


def filled(path: Path, contributions: list[Contribution] = MANY) -> Path:
    with KnowledgeStore(path) as store:
        store.add(contributions)
    return path


def held(path: Path) -> list[Contribution]:
    with KnowledgeStore(path, readonly=True) as store:
        return store.contributions()


def printed(*words: object, stdin: str | None = None) -> str:
    """What a command on a memory says on success."""
    return completed("memory", *words, columns=200, stdin=stdin).stdout


# Merging.


def test_adding_again_changes_nothing(tmp_path: Path) -> None:
    with KnowledgeStore(tmp_path / "m.sqlite") as store:
        assert store.add(MANY) == len(MANY)
        assert store.add(reversed(MANY)) == 0
        assert store.contributions() == sorted(MANY, key=lambda found: found.id)


@settings(max_examples=8, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])  # fmt: skip
@given(seed=st.integers(0, 2**32))
def test_stores_that_import_each_other_in_any_order_are_equal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(stores, "MAX_PER_GROUP", 4)
    monkeypatch.setattr(stores, "MAX_CONTRIBUTIONS", 10)
    rng, folder = random.Random(seed), tmp_path / str(seed)
    folder.mkdir(exist_ok=True)
    parts = [rng.sample(MANY, 12) for _ in range(3)]
    contents = []
    for number in range(3):
        path = folder / f"{number}.sqlite"
        rng.shuffle(parts)
        with KnowledgeStore(path) as store:
            for part in parts:
                store.add(part)
        contents.append(held(path))
    assert contents[0] == contents[1] == contents[2]
    assert len(contents[0]) <= 10


def test_processes_may_teach_at_the_same_time(tmp_path: Path) -> None:
    path = tmp_path / "m.sqlite"
    context = multiprocessing.get_context("spawn")
    parts = [[one(n, run=f"p{worker}") for n in range(20)] for worker in range(3)]
    workers = [context.Process(target=filled, args=(path, part)) for part in parts]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert len(held(path)) == 60


@pytest.mark.parametrize("reads", ["PRAGMA user_version", "PRAGMA quick_check", "sqlite_master"])
def test_a_memory_that_another_makes_while_it_is_opened_is_one(
    reads: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.sqlite"
    others: list[threading.Thread] = []

    def before(statement: str) -> None:
        if reads in statement and not others:
            others.append(threading.Thread(target=lambda: open_memory(path).close()))
            others[0].start()
            others[0].join(0.5)  # it may have to wait until the first one has looked

    def watched(*words: Any, **named: Any) -> sqlite3.Connection:
        connection = connect(*words, **named)
        if not others:
            connection.set_trace_callback(before)
        return connection

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", watched)
    filled(path)
    (other,) = others
    other.join(60)
    assert not other.is_alive() and len(held(path)) == len(MANY)


# Trouble with the file.


def truncate(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def scribble(path: Path) -> None:
    path.write_bytes(b"my shopping list: milk, kernels\n" * 200)


def smear(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096:8192] = os.urandom(4096)
    path.write_bytes(data)


def outdate(path: Path) -> None:
    _sql(path, "PRAGMA user_version = 99")


def replace(path: Path) -> None:
    path.unlink()
    _sql(path, "CREATE TABLE mine (x)")


def gut(path: Path) -> None:
    _sql(path, "DROP TABLE contribution")


def falsify(path: Path) -> None:
    _sql(path, "UPDATE contribution SET content = replace(content, '1.1', '9.1')")


def babble(path: Path) -> None:
    _sql(path, "UPDATE contribution SET content = '{' WHERE rowid = 3")


def _sql(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (truncate, "or go on without it with --memory off"),
        (scribble, "no memory of Rooftree's"),
        (smear, "damaged"),
        (outdate, "newer Rooftree"),
        (replace, "no memory of Rooftree's"),
        (gut, "no memory of Rooftree's"),
        (falsify, "does not hash to its id"),
        (babble, "damaged contribution"),
    ],
)
def test_a_harmed_memory_is_named_in_a_line_and_left_as_it_is(
    tmp_path: Path, harm: Callable[[Path], None], words: str
) -> None:
    path = filled(tmp_path / "m.sqlite")
    harm(path)
    before = path.read_bytes()
    with pytest.raises(InputError, match=words):
        held(path)
    if harm not in (falsify, babble):  # only who reads a row sees what is wrong with it
        with pytest.raises(InputError, match=words):
            KnowledgeStore(path)
        with pytest.raises(InputError, match=words):
            ToolMemory(path)
    done = rooftree("memory", "show", "--memory", path)
    refused(done, words)
    assert done.stdout == ""
    refused(rooftree("memory", "export", tmp_path / "out.jsonl", "--memory", path), words)
    assert not (tmp_path / "out.jsonl").exists()
    assert path.read_bytes() == before


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for root")
def test_a_read_only_folder_can_be_read_but_not_taught(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    path = filled(tmp_path / "home" / "m.sqlite")
    path.parent.chmod(0o555)
    try:
        assert len(held(path)) == len(MANY)
        with pytest.raises(MemoryUnavailable, match="cannot use the memory"):
            KnowledgeStore(path)
    finally:
        path.parent.chmod(0o755)


def test_a_memory_that_cannot_be_created_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(MemoryUnavailable, match="cannot use the memory"):
        KnowledgeStore(tmp_path / "file" / "m.sqlite")


def test_writing_to_a_read_only_memory_is_a_world_error(tmp_path: Path) -> None:
    path = filled(tmp_path / "m.sqlite")
    with (
        KnowledgeStore(path, readonly=True) as store,
        pytest.raises(WorldError, match="cannot be written"),
    ):
        store.add([one(99)])
    assert len(held(path)) == len(MANY)


def test_a_memory_of_the_first_version_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "m.sqlite"
    with ToolMemory(path) as memory:
        memory.learn("r", gpu="G", proposer="p", fired=[], followed=[])
    _sql(path, "DROP TABLE contribution")
    _sql(path, "DROP TABLE advice_checksum")
    _sql(path, "PRAGMA user_version = 1")
    assert held(path) == []
    assert filled(path) and len(held(path)) == len(MANY)


def test_two_connections_may_migrate_a_memory_at_once(tmp_path: Path) -> None:
    one_, other = open_memory(tmp_path / "m.sqlite"), open_memory(tmp_path / "m.sqlite")
    assert one_.execute("PRAGMA user_version").fetchone() == (3,)
    one_.close()
    other.close()


# Lines.


def test_lines_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text("".join(lines_of(MANY)))
    assert read_lines(path) == sorted(MANY, key=lambda found: found.id)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda line: line[:-30], "not JSON"),
        (lambda line: line.replace("1.1", "9.1"), "does not hash to its id"),
        (lambda line: line.replace('"node":', '"knot":'), "knot"),
        (lambda line: line.replace('"format":1', '"format":2'), "newer Rooftree"),
        (lambda line: "[]", "no JSON object"),
        (lambda line: '{"hello": 1}', "no line of an exported memory"),
        (lambda line: "[" * 5000, "not JSON"),
        (lambda line: line + " " * 9000, "longer than"),
        (lambda line: line.replace("scripted", "\\ud800"), ""),
        (lambda line: line.replace("1.1", "NaN"), ""),
        (lambda line: line.replace("1.1", "1e999"), ""),
    ],
)
def test_one_bad_line_and_nothing_is_imported(
    tmp_path: Path, spoil: Callable[[str], str], words: str
) -> None:
    first, *rest = [line.rstrip("\n") for line in lines_of(MANY)]
    export, memory = tmp_path / "in.jsonl", filled(tmp_path / "m.sqlite", [one(77)])
    export.write_text("\n".join([first, "", spoil(rest[0]), *rest[1:]]) + "\n")
    done = rooftree("memory", "import", export, "--memory", memory)
    refused(done, f"{export}, line 3", words)
    assert done.stdout == ""
    assert held(memory) == [one(77)]


def test_an_export_cut_short_says_so(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text("".join(lines_of(MANY))[:-40])
    with pytest.raises(InputError, match=f"line {len(MANY)}: .*ends in the middle"):
        read_lines(path)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
_LINE = json.loads(next(lines_of([one(1)])))


@settings(max_examples=150, deadline=None)
@given(
    st.text() | json_values.map(json.dumps)
    | st.tuples(st.sampled_from(sorted(_LINE)), json_values).map(
        lambda change: json.dumps({**_LINE, change[0]: change[1]})
    )
)  # fmt: skip
def test_whatever_a_line_holds_it_is_read_or_refused(line: str) -> None:
    try:
        found = parse_line(line)
    except InputError as error:
        assert str(error)
    else:
        assert found.id == json.loads(line)["id"]


@settings(max_examples=60, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])  # fmt: skip
@given(st.binary(max_size=300), st.integers(0, 2000))
def test_whatever_bytes_an_export_holds_they_are_read_or_refused(
    tmp_path: Path, noise: bytes, at: int
) -> None:
    path = tmp_path / "in.jsonl"
    good = "".join(lines_of(MANY[:5])).encode()
    path.write_bytes(good[:at] + noise + good[at:])
    try:
        found = read_lines(path)
    except InputError as error:
        assert "line" in str(error)
    else:
        assert {item.id for item in found} <= {item.id for item in MANY}


# ForgetFilter, showing, sharing.


def test_forget_removes_what_meets_all_conditions(tmp_path: Path) -> None:
    path = filled(tmp_path / "m.sqlite")
    with KnowledgeStore(path) as store:
        assert store.forget(ForgetFilter(run="r0", task="t1")) == 4
        assert not [f for f in store.contributions() if f.run == "r0" and f.task == "t1"]
        assert store.forget(ForgetFilter(before=1.0)) == 0
        assert store.forget(ForgetFilter(method="memory.vectorized_loads")) == len(MANY) - 4


def test_forget_needs_a_condition_or_all(tmp_path: Path) -> None:
    path = filled(tmp_path / "m.sqlite")
    refused(rooftree("memory", "forget", "--memory", path), "--all")
    refused(rooftree("memory", "forget", "--all", "--task", "t1", "--memory", path))
    assert len(held(path)) == len(MANY)
    refused(
        rooftree("memory", "forget", "--task", "t1", "--memory", tmp_path / "none.sqlite"),
        "there is no memory",
    )
    assert printed("forget", "--older-than", "7", "--memory", path).startswith("0 contributions")
    printed("forget", "--all", "--memory", path)
    assert held(path) == []


def test_a_team_shares_one_through_exports(tmp_path: Path) -> None:
    mine = filled(tmp_path / "mine.sqlite", MANY[:16])
    theirs = filled(tmp_path / "theirs.sqlite", MANY[8:])
    for memory, name in ((mine, "mine.jsonl"), (theirs, "theirs.jsonl")):
        assert "16 contributions" in printed("export", tmp_path / name, "--memory", memory)
    exports = (tmp_path / "mine.jsonl", tmp_path / "theirs.jsonl")
    assert printed("import", *exports, "--memory", mine).startswith("8 contributions added")
    printed("import", *reversed(exports), "--memory", theirs)
    assert held(mine) == held(theirs) == sorted(MANY, key=lambda found: found.id)
    text = printed("export", "-", "--memory", mine)
    printed("import", "-", "--memory", tmp_path / "new.sqlite", stdin=text)
    assert held(tmp_path / "new.sqlite") == held(mine)


def test_an_export_replaces_nothing_unasked(tmp_path: Path) -> None:
    memory, target = filled(tmp_path / "m.sqlite"), tmp_path / "out.jsonl"
    target.write_text("precious")
    refused(rooftree("memory", "export", target, "--memory", memory), "--force")
    assert target.read_text() == "precious"
    printed("export", target, "--memory", memory, "--force")
    assert len(read_lines(target)) == len(MANY)


def test_show_says_what_was_seen_and_what_is_expected(tmp_path: Path) -> None:
    path = filled(tmp_path / "m.sqlite")
    out = printed("show", "--memory", path)
    assert "memory.vectorized_loads" in out
    assert "24 contributions of 2 runs on 3 tasks" in out
    (row,) = json_of("memory", "show", "--memory", path, "--every-state")["experience"]
    assert row["state"]["secondary"] == "coalescing" and row["tried"] == 24 and row["failed"] == 6
    assert row["low"] < row["expected_gain"] < row["high"]
    assert row["predicted"] == pytest.approx(1.1)
    assert json_of("memory", "show", "--memory", path, "--besides", "t1")["tasks"] == ["t0", "t2"]
    assert "nothing of that" in printed("show", "--memory", path, "--method", "no.such")
    assert "holds nothing yet" in printed("show", "--memory", tmp_path / "none.sqlite")
    assert not (tmp_path / "none.sqlite").exists()


def test_rows_of_a_table_come_from_contributions_alone() -> None:
    rows = experience_rows([*MANY, one(500, method="memory.cache_hints", gain=None)])
    assert [row.act.method for row in rows] == ["memory.vectorized_loads", "memory.cache_hints"]


# What runs and studies begin with.


def test_knowledge_comes_cold_from_a_memory_or_from_an_export(tmp_path: Path) -> None:
    memory, export = filled(tmp_path / "m.sqlite"), tmp_path / "e.jsonl"
    export.write_text("".join(lines_of(MANY)))
    assert not knowledge_from("cold")
    assert knowledge_from(str(memory)).sums == knowledge_from(str(export)).sums
    assert {key.task for key in knowledge_from(str(export), besides="t1").sums} == {"t0", "t2"}
    with pytest.raises(InputError, match="there is no memory"):
        knowledge_from(str(tmp_path / "none.sqlite"))
    with pytest.raises(InputError, match="is a folder: name the memory's file"):
        knowledge_from(str(tmp_path))


def test_a_run_resumes_with_what_it_knew(tmp_path: Path) -> None:
    knowledge = Knowledge.of(MANY)
    sha256 = write_snapshot(tmp_path, knowledge)
    assert read_snapshot(tmp_path, sha256).expect(DRAM) == knowledge.expect(DRAM)
    assert write_snapshot(tmp_path, Knowledge()) == "" and not read_snapshot(tmp_path, "")
    (tmp_path / "knowledge.json").write_text("{}")
    with pytest.raises(InputError, match="gone or has changed"):
        read_snapshot(tmp_path, sha256)
