"""A candidate's source as text: its plan comment, its kernels, its defaults.

A variant is a source with values for its tunables. As a file its values are the plan's defaults, so
that the file compiles to the variant. A file that differs from a task's kernel in these defaults
alone is recognised as that kernel with these values, which is what recordings know.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache

from codegen.lexemes import lexemes
from mcts.domain import (
    Candidate,
    KernelTask,
    LaunchPlan,
    Scalar,
    find_plan_comment,
    parse_host_plan,
    parse_launch_plan,
)
from mcts.errors import InputError

_FORMS = (
    r"""(\{.*?\bdefault\s*=\s*)(?:"[^"\n]*"|'[^'\n]*'|[^\s,}"']+)""",
    r"(\[[^][\n]*\])",
    r"(\{[ \t]*values\s*=\s*\[[^][\n]*\])",
)
"""How a tunable is declared on a line: with a default, as a list of values, without a default."""
_ATTRIBUTE = re.compile(r"\b(?:__\w+__|alignas)\s*+\(")
_ROUND = re.compile(r"[()]")
_STRETCH = re.compile(r"([^;{}()]+)([;{}()]|\Z)")


def plan_of(source: str) -> LaunchPlan:
    """The source's launch plan; equal plans on the same line are read once.

    InputError if there is none that can be read.
    """
    found = find_plan_comment(source)
    if found is None:
        return parse_launch_plan(source)
    return _plan_in(found[0], source.count("\n", 0, found.start()))


@lru_cache(maxsize=64)
def _plan_in(comment: str, lines_before: int) -> LaunchPlan:
    return parse_launch_plan("\n" * lines_before + comment)


def without_comments(source: str) -> str:
    """The source with line splices joined and each comment turned into a space."""
    joined = re.sub(r"\\\r?\n", "", source)
    kept, at = [], 0
    for kind, start, end in lexemes(joined):
        if kind == "comment":
            kept += [joined[at:start], " "]
            at = end
    return "".join([*kept, joined[at:]])


def kernel_names(source: str) -> frozenset[str]:
    """Names of the `__global__` functions that a source defines or declares."""
    code = re.sub(r"^[ \t]*#.*$", "", without_comments(source), flags=re.M)
    names = set()
    for found in _STRETCH.finditer(_without_attributes(code)):
        if found[2] == "(" and "__global__" in found[1]:
            words = re.findall(r"\w+", found[1])
            if "__global__" in words[:-1]:
                names.add(words[-1])
    return frozenset(names)


def with_defaults(source: str, tunables: Mapping[str, Scalar]) -> str:
    """The source with `tunables` as the defaults of its plan, so that it runs as it stands.

    A plan written in a form this cannot edit, or that does not list these values, is returned
    as it is.
    """
    found = find_plan_comment(source)
    if found is None:
        return source
    plan = _plan_with(found[0], tuple(tunables.items()))
    return source[: found.start()] + plan + source[found.end() :]


@lru_cache(maxsize=64)
def _plan_with(comment: str, tunables: tuple[tuple[str, Scalar], ...]) -> str:
    """The plan's comment with other defaults; as it is if that cannot be done."""
    plan, before = comment, _defaults_of(comment) or {}
    for name, value in tunables:
        stated, listed, first = (
            re.compile(rf"^([ \t]*{re.escape(name)}\s*=\s*){form}", re.MULTILINE) for form in _FORMS
        )
        literal = json.dumps(value, ensure_ascii=False).replace("\\", r"\\")
        plan, found = stated.subn(rf"\g<1>\g<2>{literal}", plan, count=1)
        if not found and before.get(name) != value:
            plan = first.sub(rf"\g<1>\g<2>, default = {literal}", plan, count=1)
            plan = listed.sub(rf"\g<1>{{ values = \g<2>, default = {literal} }}", plan, count=1)
    return plan if _defaults_of(plan) == dict(tunables) else comment


def _defaults_of(source: str) -> dict[str, Scalar] | None:
    """The defaults of a launch plan, or of a host candidate's; None if there is neither."""
    try:
        return plan_of(source).space.default()
    except InputError:
        pass
    try:
        return parse_host_plan(source).space.default()
    except InputError:
        return None


def file_text(candidate: Candidate) -> str:
    """The source of a `.cu` with its values as the plan's defaults; unchanged if that cannot be."""
    return with_defaults(candidate.source, values_of(candidate))


def values_of(candidate: Candidate) -> dict[str, Scalar]:
    """The value of every tunable of a `.cu`, the plan's default if the candidate has none."""
    return {**(_defaults_of(candidate.source) or {}), **candidate.tunables}


def stands_alone(candidate: Candidate) -> bool:
    """Whether `file_text` alone is the variant, with no value beside it."""
    return not candidate.tunables or _defaults_of(file_text(candidate)) == values_of(candidate)


def canonical_source(task: KernelTask, source: str) -> str:
    """The task's own source if `source` differs from it in its plan's defaults alone.

    Returns any other source unchanged.
    """
    own, values = task.baseline.source, _defaults_of(source)
    if not own or values is None:
        return source
    ours, theirs = (Candidate(source=with_defaults(text, values)).id for text in (own, source))
    return own if ours == theirs else source


def _without_attributes(code: str) -> str:
    """Drop `__launch_bounds__(...)` and its like, whose parentheses look like a signature."""
    kept, at = [], 0
    while (found := _ATTRIBUTE.search(code, at)) is not None:
        kept.append(code[at : found.start()])
        depth, at = 1, len(code)
        for sign in _ROUND.finditer(code, found.end()):
            depth += 1 if sign[0] == "(" else -1
            if depth == 0:
                at = sign.end()
                break
    return "".join([*kept, code[at:]])
