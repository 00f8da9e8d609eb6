"""Questions that an author of CuTe kernels has, and the places in CUTLASS that answer them.

The search was tuned on `cutlass_questions/tuned.json`; `held_back.json` was written independently
and is asked when the search is final. Each question lists its needs, which must all be met; any of
the places in a need's ``any_of`` meets it. A place is a path and a symbol that is defined there, or
null if the file as a whole is the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from mcts.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question with its `needs`, which must all be met.

    Each need is a tuple of places, ``path#symbol`` or a path, any of which meets it.
    """

    text: str
    needs: tuple[tuple[str, ...], ...]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Place(_Part):
    path: str = Field(min_length=1)
    symbol: str | None = None


class _Need(_Part):
    any_of: tuple[_Place, ...] = Field(min_length=1)


class _Asked(_Part):
    question: str = Field(min_length=1)
    wanted: tuple[_Need, ...] = Field(min_length=1)


_FORM = TypeAdapter(tuple[_Asked, ...])


def read_questions(place: Traversable) -> tuple[Question, ...]:
    """The questions of a file; none if there is no such file. InputError if its form is wrong."""
    if not place.is_file():
        return ()
    try:
        asked = _FORM.validate_json(place.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(f"{place.name}: {where}: {first['msg']}") from None
    return tuple(
        Question(
            text=each.question,
            needs=tuple(tuple(_written(place) for place in need.any_of) for need in each.wanted),
        )
        for each in asked
    )


def _written(place: _Place) -> str:
    return f"{place.path}#{place.symbol}" if place.symbol else place.path


_FOLDER = files("experiments.benchmarks.evidence") / "cutlass_questions"
TUNED = read_questions(_FOLDER / "tuned.json")
HELD_BACK = read_questions(_FOLDER / "held_back.json")
QUESTIONS = TUNED + HELD_BACK
