"""A prompt of a few hundred tokens for small models that choose values alone."""

from __future__ import annotations

import itertools
import json
import re
import string
from collections.abc import Iterator

from codegen.prompting.budget import estimate_tokens
from codegen.prompting.contract import template
from codegen.prompting.prompt import Prompt
from codegen.prompting.untrusted import inline
from mcts.domain import Candidate, Evaluation, Hardware, Scalar, TunableSpace
from mcts.errors import InputError
from mcts.options import ModelOptions
from mcts.ports import ProposalRequest

ID = "brief_values/3"
_SHOWN = 8
"""Judged combinations that are shown beside the parent: the fastest."""
_FAILED = 2


def brief_prompt(
    request: ProposalRequest,
    hardware: Hardware | None,
    space: TunableSpace | None,
    options: ModelOptions,
) -> Prompt:
    """The tunables, what limits the parent, and what was measured: neither code nor words on it.

    A line per combination has its time in microseconds and, as a reply does, the values in which it
    differs from the parent; the parent comes last, with all of its values. Tunables go by their
    `labels`, which a small model copies where it would misspell a name. InputError where code is to
    be written, or the prompt is too long.
    """
    if space is None:
        raise InputError(
            "--prompt-form brief asks for values of tunables alone, and here code is written: use "
            "--prompt-form full, or a recording"
        )
    body = "\n".join(_lines(request, hardware, space, told=options.feedback != "none"))
    system = template("brief.md")
    tokens = estimate_tokens(system) + estimate_tokens(body)
    if tokens > options.prompt_tokens:
        raise InputError(
            f"the task does not fit into a prompt: it takes about {tokens} tokens where "
            f"{options.prompt_tokens} are the budget of a prompt; allow more"
        )
    return Prompt(
        messages=[{"role": "system", "content": system}, {"role": "user", "content": body}],
        id=ID,
        tokens=tokens,
    )


def labels(space: TunableSpace) -> dict[str, str]:
    """A label of each tunable by its place: A, B, and so on. None is the name of a tunable."""
    letters = (
        "".join(each)
        for size in itertools.count(1)
        for each in itertools.product(string.ascii_uppercase, repeat=size)
    )
    free = (label for label in letters if label not in space.tunables)
    return dict(zip(space.tunables, free, strict=False))


def changes_text(candidate: Candidate, parent: Candidate, space: TunableSpace) -> str:
    """The values in which a candidate differs from its parent, as a reply has them."""
    values, before = _values(candidate, space), _values(parent, space)
    return json.dumps({label: value for label, value in values.items() if value != before[label]})


def _values(candidate: Candidate, space: TunableSpace) -> dict[str, Scalar]:
    """By label."""
    given = {**space.default(), **candidate.tunables}
    return {label: given[name] for name, label in labels(space).items()}


def _lines(
    request: ProposalRequest, hardware: Hardware | None, space: TunableSpace, *, told: bool
) -> Iterator[str]:
    on = f" on {inline(hardware.name)}" if hardware is not None else ""
    yield f"kernel {inline(request.task.name)}{on}"
    known = labels(space)
    for name, tunable in space.tunables.items():
        values = ", ".join(inline(json.dumps(value)) for value in tunable.values)
        words = ", ".join(inline(word) for word in (name, *tunable.methods))
        yield f'"{known[name]}": {values} ({words})'
    names = re.compile(r"\b(?:" + "|".join(map(re.escape, known)) + r")\b")
    for text in space.where:
        yield f"where {inline(names.sub(lambda found: known[found[0]], text), longest=500)}"
    if told:
        yield from _advice(request)
    if shown := shown_candidates(request):
        yield "measured, us:"
    for time_us, candidate in shown:
        time = "failed" if time_us is None else f"{time_us:.4g}"
        yield f"{time} {changes_text(candidate, request.parent, space)}"
    yield "from:"
    yield f"{_time(request.evaluation)} {json.dumps(_values(request.parent, space))}"


def _advice(request: ProposalRequest) -> Iterator[str]:
    if request.guidance.roofline is not None:
        yield f"bound: {request.guidance.roofline.bound}"
    found = request.guidance.findings
    methods = dict.fromkeys(method for finding in found for method in finding.methods)
    if methods:
        yield f"advice: {', '.join(methods)}"


def shown_candidates(request: ProposalRequest) -> list[tuple[float | None, Candidate]]:
    """What was judged with the parent's code and is shown beside it, with its time, None where it
    failed: the last that failed, then the fastest, the slowest of these first.
    """
    timed: list[tuple[float | None, Candidate]] = []
    failed: list[tuple[float | None, Candidate]] = []
    for attempt in request.history:
        candidate, evaluation = attempt.candidate, attempt.evaluation
        if candidate is None or evaluation is None or candidate.id == request.parent.id:
            continue
        if candidate.source != request.parent.source:
            continue
        if evaluation.measured and evaluation.timing is not None:
            timed.append((evaluation.timing.median_us, candidate))
        else:
            failed.append((None, candidate))
    fastest = sorted(timed, key=lambda item: -(item[0] or 0.0))[-_SHOWN:]
    return failed[-_FAILED:] + fastest


def _time(evaluation: Evaluation) -> str:
    if not evaluation.measured or evaluation.timing is None:
        return "failed"
    return f"{evaluation.timing.median_us:.4g}"
