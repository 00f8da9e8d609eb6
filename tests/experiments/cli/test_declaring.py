"""Options that come from models: how they are written, and what a command gets of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from experiments.cli.declaring import Taken, declare
from experiments.cli.errors import OneLine
from mcts.options import JudgingOptions, Limits, ModelOptions, Option, SearchOptions

GOT: list[Any] = []


def small(
    task: Annotated[str, typer.Argument()],
    limits: Annotated[Limits, Taken(evaluations={"name": "--budget", "default": 20})],
    judging: Annotated[JudgingOptions, Taken("device", "includes", "policy")],
    model: Annotated[ModelOptions, Taken(without=("library",))],
    loud: Annotated[bool, typer.Option("--loud")] = False,
) -> None:
    """Keep what it was called with."""
    GOT.append((task, limits, judging, model, loud))


def other() -> None:
    """Do nothing."""


def called(*words: object) -> Any:
    app = typer.Typer(cls=OneLine, add_completion=False)
    declare(app, small, other)
    GOT.clear()
    done = CliRunner().invoke(app, ["small", *map(str, words)])
    if done.exit_code:
        return done.output
    return GOT[0] if GOT else done.output


def test_a_command_gets_models_of_what_was_given(tmp_path: Path) -> None:
    task, limits, judging, model, loud = called(
        "t", "--budget", 7, "--include", tmp_path, "--policy", "weights=frozen", "--fallback", "a",
        "--fallback", "b", "--temperature", 0.7, "--loud",
    )  # fmt: skip
    assert (task, loud) == ("t", True)
    assert limits == Limits(evaluations=7) and limits.given() == {"evaluations": 7}
    assert judging.includes == (tmp_path,) and judging.policy.weights == "frozen"
    assert model.given() == {"fallbacks": ("a", "b"), "temperature": 0.7}


def test_a_missing_option_has_the_default_of_the_command_or_the_model() -> None:
    _, limits, judging, model, _ = called("t")
    assert limits == Limits(evaluations=20)
    assert judging == JudgingOptions() and judging.given() == {}
    assert model == ModelOptions() and model.given() == {}


def test_an_option_has_further_names_that_help_does_not_show() -> None:
    assert called("t", "--max-minutes", 3)[1].minutes == called("t", "--minutes", 3)[1].minutes == 3
    shown = called("--help")
    assert "--minutes" in shown and "--max-minutes" not in shown and "--library" not in shown


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--temperature", 3), "--temperature 3: at most 2"),
        (("--budget", 0), "--budget 0: at least 1"),
        (
            ("--feedback", "x"),
            "--feedback 'x': tools, counters, both, evidence, evidence+tools, chosen or none",
        ),
        (("--library", "x"), "there is no option --library"),
        (("--evaluations", 3), "there is no option --evaluations"),
    ],
)
def test_a_wrong_value_is_one_line(words: tuple[object, ...], line: str) -> None:
    assert line in " ".join(called("t", *words).split())


@pytest.mark.parametrize("model", [JudgingOptions, Limits, ModelOptions, SearchOptions])
def test_every_field_is_an_option_with_a_name_of_its_own(model: type[Any]) -> None:
    options: dict[str, Option] = model.options()
    assert options.keys() == model.model_fields.keys()
    assert len({option.name for option in options.values()}) == len(options)
    assert all(option.name.startswith("--") and option.help for option in options.values())


def test_a_command_is_built_when_it_is_needed() -> None:
    app = typer.Typer(cls=OneLine, add_completion=False)
    declare(app, small, other)
    command: Any = get_command(app)
    assert command.commands["small"]._built is None
    assert "Keep what it was called with." in CliRunner().invoke(app, ["--help"]).output
    assert command.commands["small"].params[0].name == "task"
