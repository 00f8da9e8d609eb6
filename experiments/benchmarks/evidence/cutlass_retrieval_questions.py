"""Questions that an author of CuTe kernels has, and the places in CUTLASS that answer them.

They stand in `cutlass_questions/tuned.json`, by which the search was tuned, and `held_back.json`,
which was written apart and is asked when the search is final. Each question lists what is wanted,
all of it; of the places in ``any_of``, any will do. A place is a path and a symbol that is defined
there, or null where the file as a whole is the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from mcts.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """`needs`: all are wanted; of the places within one, ``path#symbol`` or a path, any."""

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
    """The questions of a file; none if there is no file. InputError for another form."""
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
            text=one.question,
            needs=tuple(tuple(_written(place) for place in need.any_of) for need in one.wanted),
        )
        for one in asked
    )


def _written(place: _Place) -> str:
    return f"{place.path}#{place.symbol}" if place.symbol else place.path


_FOLDER = files("experiments.benchmarks.evidence") / "cutlass_questions"
TUNED = read_questions(_FOLDER / "tuned.json")
HELD_BACK = read_questions(_FOLDER / "held_back.json")
QUESTIONS = TUNED + HELD_BACK
