"""Replies with tunable values alone."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping

from codegen.prompting.brief import labels
from codegen.replies.text import ReplyText
from mcts.domain import Candidate, Scalar, TunableSpace
from mcts.errors import InputError, NotRecorded, ProposalRejected
from mcts.ports import ProposalRequest

_OBJECT = re.compile(r"\{[^{}]*\}")


def choosable_space(request: ProposalRequest) -> TunableSpace:
    """The tunables whose values a reply may choose: those that the parent declares, else the
    task's. InputError if they cannot be read.
    """
    source = request.parent.source
    declared = request.task.dialect_of(source).space_of(source)
    return request.task.space if declared is None else declared


def values_candidate(reply: ReplyText, request: ProposalRequest, space: TunableSpace) -> Candidate:
    """The parent with other values, from one JSON object; what it leaves out keeps the parent's.

    It has names of tunables, or the labels that stand for them in a brief prompt. Raises
    ProposalRejected for values that cannot be, NotRecorded for what a replay cannot judge.
    """
    named = {label: name for name, label in labels(space).items()}
    values = {named.get(name, name): value for name, value in _values(reply).items()}
    try:
        merged = {**space.default(), **request.parent.tunables, **values}
        unknown = [name for name in values if name not in space.tunables]
        if unknown:
            known = ", ".join(space.tunables)
            raise InputError(f"unknown tunable {unknown[0]!r}; known: {known}")
        tunables = {name: declared(space, name, merged[name]) for name in space.tunables}
        space.check(tunables)
        _check_recorded(space, tunables)
        if not request.task.allows(space, tunables):
            raise InputError("the combination of values is excluded by the space's constraints")
    except InputError as error:
        raise ProposalRejected(f"the reply's tunable values cannot be used: {error}") from None
    _check_recorded(request.task.space, tunables)
    return Candidate(source=request.parent.source, tunables=tunables)


def _check_recorded(space: TunableSpace, tunables: Mapping[str, Scalar]) -> None:
    """Raise NotRecorded if the task is a recording's and does not hold these values.

    A recording may be a choice of its space: what it leaves out is no mistake of the reply.
    """
    if not space.rows or space.tunables.keys() != tunables.keys():
        return
    if tuple(tunables[name] for name in space.tunables) not in space.row_set:
        told = ", ".join(f"{name} = {value}" for name, value in tunables.items())
        raise NotRecorded(f"the recording holds no measurement of {told}")


def declared(space: TunableSpace, name: str, value: Scalar) -> Scalar:
    """The declared value that equals `value`, so that 4.0 and 4 give the same candidate."""
    for known in space.tunables[name].values:
        if known == value or str(known) == value:
            return known
    return value


def _values(reply: ReplyText) -> dict[str, Scalar]:
    """The last object that can be read; in a reply that is one, what it calls values."""
    if isinstance(inner := reply.fields.get("values"), dict):
        return _scalars(inner)
    candidates = [*_OBJECT.findall(reply.whole), *(block.text for block in reply.blocks)]
    for body in reversed(candidates):
        try:
            found = json.loads(body)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and found:
            return _scalars(found)
    raise ProposalRejected("the reply holds no JSON object with tunable values")


def _scalars(found: dict[str, object]) -> dict[str, Scalar]:
    kept: dict[str, Scalar] = {}
    for name, value in found.items():
        if not isinstance(value, int | float | str | bool):
            raise ProposalRejected(f"the value of tunable {name!r} is not a single value")
        if isinstance(value, float) and not math.isfinite(value):
            raise ProposalRejected(f"the value of tunable {name!r} is not finite")
        kept[name] = value
    return kept
