"""What is wrong with a file, in Rooftree's words and not in those of pydantic."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import Field, ValidationError

from mcts.domain import Noun
from mcts.wrong_values import first_problem


class Tile(Noun):
    width: int = Field(default=1, ge=1, le=8)
    name: str = Field(default="x", pattern="^[a-z]+$")
    order: Literal["row", "column"] = "row"


class Plan(Noun):
    seed: int = 0
    ratio: float = 1.0
    exact: bool = True
    value: bool | int | float = 0
    tile: Tile | None = None
    tiles: tuple[Tile, ...] = ()
    named: dict[str, Tile] = {}
    sizes: tuple[str | int | Tile, ...] = ()


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"seed": "a"}, 'seed = "a": a whole number'),
        ({"seed": 1.5}, "seed = 1.5: a whole number"),
        ({"seed": "a" * 99}, "seed: a whole number"),
        ({"seed": []}, "seed: a whole number"),
        ({"ratio": "much"}, 'ratio = "much": a number'),
        ({"exact": 3}, "exact = 3: true or false"),
        ({"value": "a"}, 'value = "a": true or false or a number'),
        ({"tile": {"width": 0}}, "tile.width = 0: at least 1"),
        ({"tiles": [{"width": 9}]}, "tiles.0.width = 9: at most 8"),
        ({"tile": {"name": "A"}}, 'tile.name = "A": a text of the form ^[a-z]+$'),
        ({"tile": {"order": "rows"}}, 'tile.order = "rows": row or column'),
        ({"sede": 1}, "sede: there is no such field; did you mean seed?"),
        ({"colour": 1}, "colour: there is no such field"),
        ({"int": 1}, "int: there is no such field"),
        ({"tile": {"witdh": 1}}, "tile.witdh: there is no such field; did you mean width?"),
        ({"tiles": [{"witdh": 1}]}, "tiles.0.witdh: there is no such field; did you mean width?"),
        (
            {"named": {"a": {"witdh": 1}}},
            "named.a.witdh: there is no such field; did you mean width?",
        ),
        ({"sizes": [{"witdh": 1}]}, "sizes.0.witdh: there is no such field; did you mean width?"),
        ({"seed": "a", "ratio": "a"}, 'seed = "a": a whole number; ratio = "a": a number'),
        ({"a": 1, "b": 1, "c": 1, "d": 1}, "c: there is no such field (and 1 more)"),
    ],
)
def test_a_problem_is_said_with_its_place_and_what_is_wanted(
    table: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValidationError) as raised:
        Plan.model_validate(table)
    assert first_problem(raised.value, Plan).endswith(words)


def test_what_is_missing_is_said() -> None:
    class Named(Noun):
        name: str

    with pytest.raises(ValidationError) as raised:
        Named.model_validate({})
    assert first_problem(raised.value) == "name: it is missing"


def test_without_the_model_no_other_field_is_offered() -> None:
    with pytest.raises(ValidationError) as raised:
        Plan.model_validate({"sede": 1})
    assert first_problem(raised.value) == "sede: there is no such field"
