"""What `--help` shows of every command: options in groups, flags by their names alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command

from experiments.cli import app
from tests.support.commands import completed


def commands(group: Any, *above: str) -> Iterator[tuple[str, ...]]:
    """The words of every command, groups included."""
    yield above
    for name, one in getattr(group, "commands", {}).items():
        yield from commands(one, *above, name)


ALL = list(commands(get_command(app)))


@pytest.mark.parametrize("words", ALL, ids=[" ".join(words) or "rooftree" for words in ALL])
def test_no_help_calls_a_flag_a_bool(words: tuple[str, ...]) -> None:
    assert "<bool>" not in completed(*words, "--help").stdout


def test_what_optimize_takes_stands_in_groups() -> None:
    text = completed("optimize", "--help").stdout
    titles = ["─ Options ─", "─ Judging ─", "─ Search ─", "─ Language model ─", "─ Limits ─"]
    places = [text.index(title) for title in titles]
    assert places == sorted(places)


def test_a_few_options_of_a_group_stand_among_the_others() -> None:
    assert "─ Judging ─" not in completed("inspect", "--help").stdout
    assert "--device" in completed("inspect", "--help").stdout


@pytest.mark.parametrize("command", ["optimize", "record", "study", "report", "tree", "inspect"])
def test_what_writes_a_file_takes_o(command: str) -> None:
    line = next(
        line for line in completed(command, "--help").stdout.splitlines() if "--out" in line
    )
    assert " -o " in line
