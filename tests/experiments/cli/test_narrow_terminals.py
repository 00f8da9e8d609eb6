"""On terminals of 80 and 120 columns names in tables stand whole; figures make room for them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.app.attributing import Weighed
from experiments.benchmarks.clinic.cases import clinic_kernels
from experiments.benchmarks.studies.comparing import Comparison, Contest, Standing
from experiments.benchmarks.studies.recorded_task import TaskFacts
from experiments.benchmarks.studies.tables import contest_tables, standing_table
from experiments.cli.commands import attribute
from experiments.runs.memory.advice import Firing, FollowUp
from experiments.runs.memory.knowledge import KnowledgeStore
from experiments.runs.memory.tools import ToolMemory
from experiments.text.tables import Column, fitted, print_fitted, print_table, show
from mcts.domain import Attribution, StateSignature
from mcts.journal.spending import Spending
from mcts.knowledge.contribution import Contribution
from microtools import registry
from tests.support.commands import completed

ROOT = Path(__file__).resolve().parents[3]
METHODS = [
    method["id"] for method in tomllib.loads((ROOT / "codegen/playbook.toml").read_text())["method"]
]
TOOLS = [tool.name for tool in registry.builtin()]
WIDTHS = pytest.mark.parametrize("columns", [80, 120])


def lines_of_table(text: str, columns: int) -> list[str]:
    """The printed lines but for sentences, which may be of any length."""
    sentences = ("no room for: ", "over ")
    lines = [line for line in text.splitlines() if not line.startswith(sentences)]
    assert "…" not in text
    assert max(map(len, lines)) <= columns
    return lines


def words_of(text: str) -> set[str]:
    return {word.strip(",:") for word in text.split()}


@WIDTHS
def test_memory_show_names_state_and_method(tmp_path: Path, columns: int) -> None:
    path = tmp_path / "m.sqlite"
    state = StateSignature(bound="memory", near_peak=True)
    with KnowledgeStore(path) as store:
        store.add(
            Contribution(
                run="r", node=node, task="t", gpu="G", proposer="p", state=state, method=method,
                undone=undone, outcome="improved", gain=1.5, predicted=1.25,
            )
            for node, method in enumerate(METHODS)
            for undone in (False, True)
        )  # fmt: skip
    shown = completed("memory", "show", "--memory", path, columns=columns).stdout
    table = lines_of_table(shown.rpartition("\n52 contributions")[0] or shown, columns + 200)
    assert set(METHODS) <= words_of("\n".join(table))
    titles = table[0].split() if "state" in table[0] else table[1].split()
    assert titles[:2] == ["state", "method"] and {"tried", "faster", "expected"} <= set(titles)
    assert "memory, near" in shown and "without" in shown


@WIDTHS
def test_memory_tools_names_tool_gpu_and_proposer(tmp_path: Path, columns: int) -> None:
    path = tmp_path / "m.sqlite"
    with ToolMemory(path) as memory:
        memory.learn(
            "run", gpu="NVIDIA H200", proposer="scripted",
            fired=[Firing(0, tool, 0.5, 2.0) for tool in TOOLS],
            followed=[FollowUp(1, tool, 2.0, "improved", 4.0) for tool in TOOLS],
        )  # fmt: skip
    table = lines_of_table(
        completed("memory", "tools", "--memory", path, columns=columns).stdout, columns
    )
    assert set(TOOLS) | {"scripted"} <= words_of("\n".join(table))
    assert sum("NVIDIA H200" in line for line in table) == len(TOOLS)


@WIDTHS
def test_clinic_names_tools_and_cases(columns: int) -> None:
    shown = completed("clinic", "--half", "all", "--cases", columns=columns).stdout
    lines_of_table(shown.partition("\n")[2], columns)
    named = words_of(shown)
    assert {one.name for one in clinic_kernels()} <= named
    assert {tool for one in clinic_kernels() for tool in one.expects} <= named


def weighed(note: str) -> Weighed:
    found = [
        Attribution(
            candidate_id="c", method=method, worth="implementation_failed", gain=9.542,
            gain_low=9.456, gain_high=9.651, tunables=("LANES",), realised=False, note=note,
        )
        for method in METHODS
    ]  # fmt: skip
    return Weighed(
        found=tuple(enumerate(found, 1)), result=cast(Any, None), missing=0, stopped=None,
        spent=Spending(), priced=Spending(),
    )  # fmt: skip


@WIDTHS
def test_attribute_names_methods_and_loses_no_note(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    note = "moving LANES also touches latency.work_per_thread"
    attribute._print_table(weighed(note))
    shown = capsys.readouterr().out
    assert set(METHODS) <= words_of(shown)
    assert shown.count("+954.2 % (+945.6 to +965.1)") == len(METHODS)
    assert " ".join(shown.split()).count("latency.work_per_thread") >= len(METHODS)
    if columns == 80:
        assert f"node 1, {METHODS[0]}: {note}" in shown
        assert "note" not in shown.partition("no room for: ")[2].splitlines()[0]


ARM = "mcts_without_lessons"


def comparison() -> Comparison:
    contest = Contest(
        arm=ARM, measure="20", ratio=1.016, low=1.007, high=1.03, low_here=1.0, high_here=1.1,
        p=0.5, p_holm=1.0, p_tasks=0.5, smallest_p_tasks=0.5, effect=1.0, wins=120, ties=30,
        losses=110, pairs=260,
    )  # fmt: skip
    standing = Standing(
        arm=ARM, task="sum_reduction", runs=30, reached=0.5, median_to_target=None, failed=0.5,
        speedups={"20": 13.87, "40": 13.93, "budget": 13.64},
    )  # fmt: skip
    return Comparison(
        study="s", question="", reference="mcts", alpha=0.05, contests=(contest,),
        standings=(standing,), warnings=(),
        tasks=(TaskFacts.model_construct(name="sum_reduction", length=40),),
    )  # fmt: skip


@WIDTHS
def test_compare_names_arms_and_tasks(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    show(*contest_tables(comparison(), width=columns))
    contests = "\n".join(lines_of_table(capsys.readouterr().out, columns))
    assert {ARM, "1.016", "1.000", "120/30/110"} <= words_of(contests)
    assert "1.007 to 1.030" in contests
    show(standing_table(comparison(), width=columns))
    assert {ARM, "sum_reduction"} <= words_of("\n".join(lines_of_table(
        capsys.readouterr().out, columns)))  # fmt: skip


COLUMNS = (Column("name", "name"), Column("some words", "words"), Column("figure"),
           Column("mean gain", spare=1), Column("left out first", spare=2))  # fmt: skip
ROW = ("a_name_of_a_tool", "said in several words", "1.25x", "2.50x", "1234567890")


def test_a_table_with_room_does_not_wrap(capsys: pytest.CaptureFixture[str]) -> None:
    found = fitted(COLUMNS, [ROW], width=10_000)
    print_table(found.table)
    assert capsys.readouterr().out.splitlines() == [
        "name              some words             figure  mean gain  left out first",
        "a_name_of_a_tool  said in several words   1.25x      2.50x      1234567890",
    ]
    assert found.note == ""


def test_titles_wrap_first_then_columns_go_and_a_note_names_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "54")
    print_fitted(COLUMNS, [ROW])
    assert capsys.readouterr().out.splitlines() == [
        "                                                  mean",
        "name              some words             figure   gain",
        "a_name_of_a_tool  said in several words   1.25x  2.50x",
        "no room for: left out first (a wider terminal, a pipe or --json shows all)",
    ]


@given(width=st.integers(1, 90), words=st.lists(st.text("ab cd_", max_size=30), min_size=1))
def test_no_table_is_wider_than_the_terminal_and_nothing_is_lost(
    width: int, words: list[str]
) -> None:
    from rich.console import Console

    rows = [
        (f"n{at}_{word.replace(' ', '')}", word, "1", "2", "3") for at, word in enumerate(words)
    ]
    found = fitted(COLUMNS, rows, width=width)
    assert set(found.left_out) <= {"mean gain", "left out first"}
    console = Console(width=width)
    with console.capture() as captured:
        console.print(found.table)
    printed = captured.get()
    if width >= 8:
        assert all(len(line) <= width for line in printed.splitlines())
    if width >= 60:
        assert all(row[0] in printed for row in rows)
    assert "…" not in printed
