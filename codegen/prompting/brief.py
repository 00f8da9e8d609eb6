"""A prompt of a few hundred tokens for small models that choose values alone."""

from __future__ import annotations

import json
from collections.abc import Iterator

from codegen.prompting.budget import estimate_tokens
from codegen.prompting.contract import template
from codegen.prompting.prompt import Prompt
from codegen.prompting.untrusted import inline
from mcts.domain import Candidate, Evaluation, Hardware, TunableSpace
from mcts.errors import InputError
from mcts.options import ModelOptions
from mcts.ports import ProposalRequest

ID = "brief_values/1"
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

    A line per combination has its time in microseconds and the values as a reply has them; the
    parent comes last. InputError where code is to be written, or the prompt is too long.
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


def values_text(candidate: Candidate, space: TunableSpace) -> str:
    """The values of a candidate, as a reply has them."""
    values = {**space.default(), **candidate.tunables}
    return json.dumps({name: values[name] for name in space.tunables})


def _lines(
    request: ProposalRequest, hardware: Hardware | None, space: TunableSpace, *, told: bool
) -> Iterator[str]:
    on = f" on {inline(hardware.name)}" if hardware is not None else ""
    yield f"kernel {inline(request.task.name)}{on}"
    for name, tunable in space.tunables.items():
        values = ", ".join(inline(json.dumps(value)) for value in tunable.values)
        methods = ", ".join(inline(method) for method in tunable.methods)
        yield f"{inline(name)}: {values}" + (f" ({methods})" if methods else "")
    yield from (f"where {inline(text, longest=500)}" for text in space.where)
    if told:
        yield from _advice(request)
    if measured := list(_measured(request, space)):
        yield "measured, us:"
        yield from measured
    yield "from:"
    yield f"{_time(request.evaluation)} {values_text(request.parent, space)}"


def _advice(request: ProposalRequest) -> Iterator[str]:
    if request.guidance.roofline is not None:
        yield f"bound: {request.guidance.roofline.bound}"
    found = request.guidance.findings
    methods = dict.fromkeys(method for finding in found for method in finding.methods)
    if methods:
        yield f"advice: {', '.join(methods)}"


def _measured(request: ProposalRequest, space: TunableSpace) -> Iterator[str]:
    """What was judged with the parent's code, the slowest first, and the last that failed."""
    timed: list[tuple[float, Candidate]] = []
    failed: list[Candidate] = []
    for attempt in request.history:
        candidate, evaluation = attempt.candidate, attempt.evaluation
        if candidate is None or evaluation is None or candidate.id == request.parent.id:
            continue
        if candidate.source != request.parent.source:
            continue
        if evaluation.measured and evaluation.timing is not None:
            timed.append((evaluation.timing.median_us, candidate))
        else:
            failed.append(candidate)
    yield from (f"failed {values_text(candidate, space)}" for candidate in failed[-_FAILED:])
    for time_us, candidate in sorted(timed, key=lambda item: -item[0])[-_SHOWN:]:
        yield f"{time_us:.4g} {values_text(candidate, space)}"


def _time(evaluation: Evaluation) -> str:
    if not evaluation.measured or evaluation.timing is None:
        return "failed"
    return f"{evaluation.timing.median_us:.4g}"
