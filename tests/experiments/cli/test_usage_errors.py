"""A wrong option or argument: one line in Rooftree's words, exit code 2, and where help is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command

from experiments.cli import app
from tests.support.commands import refused, rooftree


def error_of(words: str) -> str:
    done = rooftree(*words.split())
    refused(done)
    assert done.stdout == ""
    return done.stderr.removeprefix("error: ").strip()


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("optimize t --evaluations -3",
         "--evaluations -3: at least 1; see rooftree optimize --help"),
        ("optimize t --evaluations abc",
         "--evaluations abc: a whole number; see rooftree optimize --help"),
        ("optimize t --minutes nan", "--minutes nan: a number; see rooftree optimize --help"),
        ("optimize t --temperature 3", "--temperature 3: at most 2; see rooftree optimize --help"),
        ("memory forget --older-than x",
         "--older-than x: a number; see rooftree memory forget --help"),
        ("optimize", "TASK is missing; see rooftree optimize --help"),
        ("memory export", "FILE is missing; see rooftree memory export --help"),
        ("optimize t u v", "one argument too many: u v; see rooftree optimize --help"),
        ("optimize t --zzz", "there is no option --zzz; see rooftree optimize --help"),
        ("optimize t --evaluatons 3",
         "there is no option --evaluatons: did you mean --evaluations? "
         "See rooftree optimize --help"),
        ("optimize t --debug",
         "--debug stands before the command: rooftree --debug optimize; "
         "see rooftree optimize --help"),
        ("optimize t --evaluations", "--evaluations needs a value; see rooftree optimize --help"),
        ("optimize t --plain=3", "--plain takes no value; see rooftree optimize --help"),
        ("optimise t",
         "there is no command 'optimise': did you mean optimize? See rooftree --help"),
        ("memory nope", "there is no command 'nope'; see rooftree memory --help"),
        ("--zzz", "there is no option --zzz; see rooftree --help"),
        ("--debug optimize", "TASK is missing; see rooftree optimize --help"),
    ],
)  # fmt: skip
def test_a_usage_error_says_what_is_wrong_and_where_help_is(words: str, line: str) -> None:
    assert error_of(words) == line


def commands(group: Any, *words: str) -> Iterator[tuple[str, ...]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, *words, name)
        else:
            yield (*words, name)


@pytest.mark.parametrize("words", list(commands(get_command(app))), ids=" ".join)
def test_every_command_refuses_an_unknown_option_in_the_same_words(words: tuple[str, ...]) -> None:
    command = " ".join(words)
    found = error_of(f"{command} --zzz")
    assert found == f"there is no option --zzz; see rooftree {command} --help"


@pytest.mark.parametrize("words", [(), ("memory",)])
def test_a_group_without_a_command_still_shows_its_help(words: tuple[str, ...]) -> None:
    assert "Commands" in rooftree(*words).output
