"""How the space of variants is searched, by whom it is proposed, and what counts as better."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from mcts.errors import InputError
from mcts.options.option import AUTO, Option, Options, Place
from mcts.options.renamed import current_settings

Objective = Literal["time", "energy", "edp"]
"""time: the shortest time. energy: the least energy among the fastest, inside the noise.
edp: the least energy-delay product, energy per call times time per call (Gonzalez & Horowitz,
Energy dissipation in general purpose microprocessors, 1996)."""


class Algorithm(BaseModel):
    """A search by its name, and those of its constants that are not the usual ones.

    Constants may be given by the names that they had in earlier versions.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = "puct"
    constants: dict[str, int | float] = {}

    @model_validator(mode="before")
    @classmethod
    def _renamed(cls, table: Any) -> Any:
        if not isinstance(table, Mapping) or not isinstance(table.get("constants"), Mapping):
            return table
        name = str(table.get("name", cls.model_fields["name"].default))
        return {**table, "constants": current_settings(name, table["constants"])}


def read_algorithm(given: object) -> object:
    """A name and ``NAME=NUMBER`` texts as an algorithm; any other value is returned unchanged.

    InputError for two names, and for a constant that is not a number.
    """
    if not isinstance(given, list | tuple):
        return given
    names = [text for text in given if "=" not in text]
    if len(names) > 1:
        raise InputError(f"--search {names[0]} and --search {names[1]}: one search at a time")
    constants = dict(_constant(text) for text in given if "=" in text)
    return (
        Algorithm(name=names[0], constants=constants) if names else Algorithm(constants=constants)
    )


def _constant(pair: str) -> tuple[str, int | float]:
    name, _, text = pair.partition("=")
    try:
        value: int | float = int(text) if text.lstrip("+-").isdigit() else float(text)
    except ValueError:
        value = math.nan
    if not name or not math.isfinite(value):
        raise InputError(f"--search {pair!r}: write NAME=NUMBER")
    return name, value


class SearchOptions(Options):
    """What is tried next, and for what. The same `seed` and recording give the same tree.

    `prior` are recordings of other GPUs that the proposer `transfer` knows.
    `memory` is the file that the run learns from and teaches, or ``off``; without one it is the
    user's, except for replays. The `finalists` are measured once more at the end.
    """

    title: ClassVar[str] = "Search"

    proposer: Annotated[
        str,
        Option(name="--proposer", help="Who proposes: auto, or a name."),
    ] = AUTO
    prior: Annotated[
        tuple[Place, ...],
        Option(
            name="--prior",
            help="A recording of the same kernel on another GPU, for --proposer transfer; "
            "repeatable.",
        ),
    ] = ()
    seed: Annotated[int, Option(name="--seed", help="Same seed and recording, same tree.")] = 0
    parallel: Annotated[
        int, Field(ge=1), Option(name="--parallel", help="Trials in flight at a time.")
    ] = 1
    algorithm: Annotated[
        Algorithm,
        BeforeValidator(read_algorithm),
        Option(
            name="--search",
            help="Which search, and its constants, as NAME=NUMBER; repeatable.",
            typed=list[str],
        ),
    ] = Algorithm()
    memory: Annotated[
        Path | None,
        Option(
            name="--memory",
            help="Learn from and teach this file, or off; default: yours, replays none.",
        ),
    ] = None
    objective: Annotated[
        Objective,
        Option(
            name="--objective",
            help="What to have less of: time, energy (at matched speed) or edp.",
        ),
    ] = "time"
    finalists: Annotated[
        int,
        Field(ge=0),
        Option(name="--finalists", help="How many of the best are measured once more at the end."),
    ] = 3
