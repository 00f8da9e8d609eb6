"""Variants as files: the values of the tunables are written as the defaults of the plan.

A variant is a source with values for its tunables. As a file its values are the plan's defaults, so
that the file compiles to the variant. A file that differs from a task's kernel in these defaults
alone is recognised as that kernel with these values, which is what recordings know.
"""

from __future__ import annotations

from codegen.plan_text import plan_of, with_defaults
from mcts.domain import Candidate, KernelTask, Scalar, parse_host_plan
from mcts.errors import InputError


def file_text(candidate: Candidate) -> str:
    """The source of a `.cu` with its values as the plan's defaults; unchanged if that cannot be."""
    return with_defaults(candidate.source, values_of(candidate))


def values_of(candidate: Candidate) -> dict[str, Scalar]:
    """The value of every tunable of a `.cu`, the plan's default if the candidate has none."""
    return {**(_defaults(candidate.source) or {}), **candidate.tunables}


def stands_alone(candidate: Candidate) -> bool:
    """Whether `file_text` alone is the variant, with no value beside it."""
    return not candidate.tunables or _defaults(file_text(candidate)) == values_of(candidate)


def canonical_source(task: KernelTask, source: str) -> str:
    """The task's own source if `source` differs from it in its plan's defaults alone.

    Returns any other source unchanged.
    """
    own, values = task.baseline.source, _defaults(source)
    if not own or values is None:
        return source
    ours, theirs = (Candidate(source=with_defaults(text, values)).id for text in (own, source))
    return own if ours == theirs else source


def _defaults(source: str) -> dict[str, Scalar] | None:
    """The defaults of a launch plan or a host plan; None if it is neither."""
    try:
        return plan_of(source).space.default()
    except InputError:
        pass
    try:
        return parse_host_plan(source).space.default()
    except InputError:
        return None
