"""The dialects: what a candidate is, each a module and an entry in `DIALECTS`.

A new dialect also needs modules of its name in `codegen.dialects` and `profilers.dialects`; nothing
else asks which dialect a task has.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated

from pydantic import PlainSerializer, PlainValidator, WithJsonSchema

from mcts.domain.dialects.cuda import CUDA
from mcts.domain.dialects.dialect import Dialect
from mcts.domain.dialects.host import HOST
from mcts.domain.dialects.kernelbench import KERNELBENCH
from mcts.domain.dialects.space import SPACE

__all__ = [
    "CUDA",
    "DIALECTS",
    "HOST",
    "KERNELBENCH",
    "SPACE",
    "Dialect",
    "DialectField",
    "dialect_named",
    "form_of",
]

DIALECTS: Mapping[str, Dialect] = {entry: entry for entry in (CUDA, KERNELBENCH, HOST, SPACE)}


def dialect_named(name: object) -> Dialect:
    """The dialect of this name. Raises ValueError if there is none."""
    found = DIALECTS.get(name) if isinstance(name, str) else None
    if found is None:
        close = get_close_matches(str(name), DIALECTS, n=1)
        meant = f"did you mean {close[0]}?" if close else f"known: {', '.join(DIALECTS)}"
        raise ValueError(f"unknown dialect {name!r}; {meant}")
    return found


def form_of(dialect: Dialect, source: str) -> Dialect:
    """The dialect of a source, among those that a task of `dialect` takes."""
    forms = [DIALECTS[name] for name in dialect.forms] or [dialect]
    return next(form for form in forms if form.recognises(source))


DialectField = Annotated[
    Dialect,
    PlainValidator(dialect_named),
    PlainSerializer(str, return_type=str),
    WithJsonSchema({"type": "string", "enum": list(DIALECTS)}),
]
"""A dialect as the field of a model: a string wherever it is written down."""
