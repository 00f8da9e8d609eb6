"""What is known from earlier: lessons, exemplars, what was tried from this variant, methods."""

from __future__ import annotations

import re
from collections import defaultdict
from statistics import geometric_mean

from codegen.prompting.budget import Part, Section
from codegen.prompting.contract import Contract
from codegen.prompting.diagnostics import condensed_log
from codegen.prompting.roles import Role
from codegen.prompting.untrusted import clean_log, fence, inline
from codegen.prompting.variant import shown_source
from mcts.domain import Candidate, Dialect, Evaluation, Hardware, Lesson
from mcts.ports import Attempt, ProposalRequest

MAX_LESSONS = 10
MAX_ATTEMPTS = 12
LONGEST_EXEMPLAR = 16_000
"""Characters; part of a file teaches nothing, so that a longer one is not shown."""
_REASON = 240
_NAME = 80
_ALIKE = 0.005
_ADDRESS = re.compile(r" at https?://\S+")
"""Where a model was asked: no other one needs to know."""


def lessons_section(lessons: tuple[Lesson, ...]) -> Section:
    """Per method what became of it so far; the request gives the most relevant lessons first."""
    by_method: dict[str, list[Lesson]] = defaultdict(list)
    for lesson in lessons:
        by_method[lesson.method].append(lesson)
    parts = [
        Part(f"- {method_id(method)}: {_experience(learned)}", "lesson", rank)
        for rank, (method, learned) in enumerate(list(by_method.items())[:MAX_LESSONS])
    ]
    return Section(
        title="What earlier variants taught",
        lead="Per method, most relevant first; a gain is the time before over the time after.",
        parts=tuple(parts),
    )


def _experience(lessons: list[Lesson]) -> str:
    gains = [lesson.gain for lesson in lessons if lesson.gain is not None]
    failed = sum(lesson.outcome == "failed" for lesson in lessons)
    absent = sum(lesson.realised is False for lesson in lessons)
    facts = [f"tried {len(lessons)} times"]
    if gains:
        facts.append(f"mean gain {geometric_mean(gains):.2f}x, best {max(gains):.2f}x")
    if failed:
        facts.append(f"{failed} failed")
    if absent:
        facts.append(
            f"{absent} times it never appeared in the machine code: say why it will this time"
        )
    return ", ".join(facts)


def exemplars_section(request: ProposalRequest) -> Section:
    """Other variants with their speed, fastest first, to be contrasted (CUDA-L1)."""
    dialect = request.task.dialect
    known = [
        (attempt.candidate, attempt.evaluation)
        for attempt in request.exemplars
        if attempt.candidate is not None and attempt.evaluation is not None
    ]
    timed = [(c, e) for c, e in known if e.speedup is not None and c.id != request.parent.id]
    timed.sort(key=lambda pair: -(pair[1].speedup or 0.0))
    parts = tuple(
        Part(_exemplar(letter, candidate, evaluation, request.evaluation, dialect), "exemplar", at)
        for at, (letter, (candidate, evaluation)) in enumerate(zip("ABCDEFGH", timed, strict=False))
        if len(candidate.source) <= LONGEST_EXEMPLAR
    )
    return Section(
        title="Other variants of this task, for contrast",
        lead="Measured earlier in the same way. Ask what the faster does that the slower does not, "
        "keep what explains the difference, and do better; do not copy one as it is.",
        parts=parts,
        joint="\n\n",
    )


def _exemplar(
    letter: str, candidate: Candidate, evaluation: Evaluation, own: Evaluation, dialect: Dialect
) -> str:
    head = f"Variant {letter}: {evaluation.speedup:.2f}x over the baseline" + _against(
        evaluation, own
    )
    if not dialect.has_source:
        return f"{head}\n\n{fence(_values(candidate))}"
    return f"{head}\n\n{fence(shown_source(candidate, dialect), dialect.language)}"


def _against(evaluation: Evaluation, own: Evaluation) -> str:
    """How it compares with the parent, where both have a time."""
    if not own.measured or own.timing is None or evaluation.timing is None:
        return "."
    gain = own.timing.median_us / evaluation.timing.median_us
    if abs(gain - 1.0) < _ALIKE:
        return ", as fast as what you are shown."
    return f", {'FASTER' if gain > 1 else 'SLOWER'} than what you are shown ({gain:.2f}x as fast)."


def attempts_section(request: ProposalRequest, role: Role) -> Section:
    """What was tried from this variant before and what came of it, oldest first."""
    tried = request.siblings[-MAX_ATTEMPTS:]
    first = len(request.siblings) - len(tried) + 1
    parts = tuple(
        Part(f"{first + at}. {_attempt(attempt, request)}", "earlier attempt", len(tried) - at)
        for at, attempt in enumerate(tried)
    )
    lead = {
        "repair": "Earlier repairs of this variant, so that none is repeated:",
        "diversify": "What was tried from this variant. Your approach must differ from all of it:",
        "remove": "What was tried from this variant:",
        "implement": "Earlier first implementations. Yours must not repeat their mistakes, nor "
        "their design:",
        "optimize": "Other variants derived from this one. Take another direction than theirs, or "
        "say why the same one will work now:",
    }[role]
    return Section(title="What was tried from here", lead=lead, parts=parts, fenced=True)


def _attempt(attempt: Attempt, request: ProposalRequest) -> str:
    """One line: what it changed and claimed, and what it came to."""
    candidate, evaluation = attempt.candidate, attempt.evaluation
    if candidate is None:
        why = clean_log(_ADDRESS.sub("", attempt.reason))
        return f"no usable reply: {inline(why, longest=_REASON)}"
    told = [
        inline(candidate.name, longest=_NAME),
        ", ".join(map(method_id, candidate.methods)),
        inline(candidate.rationale, longest=_REASON),
        _moved(candidate, request.parent),
    ]
    what = "; ".join(filter(None, told)) or "no reason given"
    if evaluation is None:
        return f"{what} -> {inline(clean_log(attempt.reason) or 'no result', longest=_REASON)}"
    return f"{what} -> {_outcome(evaluation, request.evaluation, candidate.source)}"


def _moved(candidate: Candidate, parent: Candidate) -> str:
    """Tunables whose values differ from the parent's, where both declare them."""
    pairs = [
        f"{inline(name)} {inline(parent.tunables[name])} -> {inline(value)}"
        for name, value in candidate.tunables.items()
        if name in parent.tunables and parent.tunables[name] != value
    ]
    return ", ".join(pairs)


def _outcome(evaluation: Evaluation, own: Evaluation, source: str) -> str:
    if evaluation.measured and evaluation.timing is not None:
        text = f"right, {evaluation.timing.median_us:.2f} us"
        if own.measured and own.timing is not None:
            gain = own.timing.median_us / evaluation.timing.median_us
            text += f", {gain:.2f}x as fast as what you are shown"
        return text
    words = evaluation.status.replace("_", " ")
    if evaluation.refusal is not None:
        words += f" ({evaluation.refusal.cheat.replace('_', ' ')})"
    if evaluation.status == "compile_failed" and evaluation.build and evaluation.build.log:
        why = condensed_log(evaluation.build.log, source)
    elif evaluation.verification is not None and evaluation.verification.detail:
        why = evaluation.verification.detail
    else:
        why = evaluation.message
    return f"{words}: {inline(clean_log(why), longest=_REASON)}"


def _values(candidate: Candidate) -> str:
    return ", ".join(f"{name} = {value}" for name, value in candidate.tunables.items())


def methods_section(contract: Contract, hardware: Hardware | None) -> Section | None:
    """The playbook, a line for each method; the same whatever the profile says. None if no code is
    to be written.
    """
    if not contract.whole_file:
        return None
    parts = tuple(
        Part(f"- `{method.id}` ({method.axis}): {method.name}. {method.applies_when}", "method", at)
        for at, method in enumerate(contract.methods(hardware).values())
    )
    return Section(
        title="Methods to choose from",
        lead="Name those you apply by these ids, or name a new one in the same form.",
        parts=parts,
    )


def method_id(text: str) -> str:
    """A method's id with nothing in it that could be read as more than a name."""
    return re.sub(r"[^\w.-]+", "_", text)[:60]
