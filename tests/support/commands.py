"""Rooftree's command line, called in this process; words of any type are given as text."""

from __future__ import annotations

import json
from typing import Any

from click.testing import Result
from typer.testing import CliRunner

from experiments.cli import app


def rooftree(*words: object, columns: int | None = None, stdin: str | None = None) -> Result:
    """What a command prints, and its exit status; `columns` is the width of the terminal."""
    env = None if columns is None else {"COLUMNS": str(columns)}
    return CliRunner().invoke(app, [str(word) for word in words], input=stdin, env=env)


def completed(*words: object, columns: int | None = None, stdin: str | None = None) -> Result:
    """The same, of a command that has to succeed."""
    done = rooftree(*words, columns=columns, stdin=stdin)
    assert done.exit_code == 0, done.output
    return done


def json_of(*words: object) -> dict[str, Any]:
    """The one object that a command prints with `--json`."""
    end = words.index("--") if "--" in words else len(words)
    done = completed(*words[:end], "--json", *words[end:])
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def failed(done: Result, *parts: object) -> None:
    """Exit status 2; the last line on stderr is the error, and holds the parts."""
    assert done.exit_code == 2, done.output
    error = done.stderr.splitlines()[-1]
    assert error.startswith("error: ")
    for part in parts:
        assert str(part) in error


def refused(done: Result, *parts: object) -> None:
    """The same, and nothing is said before the error: the command has not begun its work."""
    failed(done, *parts)
    assert done.stderr.count("\n") == 1, done.stderr


def optimize(task: object, out: object, *words: object) -> Result:
    """A search that replays the task's recording."""
    return rooftree("optimize", task, "--evaluator", "replay", "--out", out, *words)


def optimized(task: object, out: object, *words: object) -> Result:
    """The same, of a search that has to succeed."""
    return completed("optimize", task, "--evaluator", "replay", "--out", out, *words)


def optimized_json(task: object, out: object, *words: object) -> dict[str, Any]:
    """The object that such a search prints with `--json`."""
    return json_of("optimize", task, "--evaluator", "replay", "--out", out, *words)
