"""The variant that is built upon, and what came of it."""

from __future__ import annotations

from codegen.plan_text import with_defaults
from codegen.prompting.budget import Part, Section
from codegen.prompting.diagnostics import LONGEST_LOG, condensed_log
from codegen.prompting.roles import Role
from codegen.prompting.rules import RULES
from codegen.prompting.untrusted import clean_log, fence, inline, shortened
from mcts.domain import (
    Candidate,
    Dialect,
    Evaluation,
    Roofline,
    Verification,
)
from mcts.ports import ProposalRequest


def shown_source(candidate: Candidate, dialect: Dialect) -> str:
    """The code as a model sees it, with the candidate's values as its plan's defaults."""
    if dialect.has_plan:
        return with_defaults(candidate.source, candidate.tunables)
    return candidate.source


def variant_section(request: ProposalRequest, role: Role) -> Section | None:
    """The parent's code and values; none for a first implementation."""
    parent, dialect = request.parent, request.task.dialect
    if role == "implement":
        return None
    parts = []
    if parent.tunables:
        pairs = (f"{inline(name)} = {inline(value)}" for name, value in parent.tunables.items())
        parts.append(Part(f"Values of its tunables: {', '.join(pairs)}"))
    if parent.source:
        parts.append(Part(fence(shown_source(parent, dialect), dialect.language)))
    if parent.rationale or parent.name:
        methods = ", ".join(parent.methods)
        why = inline(parent.rationale, longest=600) + (f" ({methods})" if methods else "")
        if parent.name:
            why = f"{inline(parent.name, longest=80)}: {why}"
        parts.append(Part(f"Why it was tried:\n\n{fence(why)}", "rationale"))
    return Section(title="The variant", parts=tuple(parts), joint="\n\n")


def result_section(request: ProposalRequest, role: Role) -> Section:
    """What the parent came to: its time under the floor, or how it failed."""
    evaluation = request.evaluation
    if not evaluation.measured:
        source = request.parent.source
        condensed = request.task.dialect_of(source).condenses_logs
        text = failure_text(evaluation, source, condensed=condensed)
        return Section(title="How it failed", parts=(Part(text),))
    lines = [_timing_text(evaluation), *_shape_lines(evaluation)]
    if evaluation.verification is not None:
        lines += _error_lines(evaluation.verification)
    if request.guidance.roofline is not None:
        lines += _floor_lines(evaluation, request.guidance.roofline)
    if role == "implement":
        title = "What there is to beat"
        lines[0] = f"The problem's own Model: {lines[0].removeprefix('Correct. ')}"
    else:
        title = "Its result"
    return Section(title=title, parts=tuple(map(Part, lines)))


def _timing_text(evaluation: Evaluation) -> str:
    timing = evaluation.timing
    assert timing is not None, "what is measured has a timing"
    return (
        f"Correct. {timing.median_us:.2f} us (95 % interval {timing.low_us:.2f} to "
        f"{timing.high_us:.2f}); speedup over the {inline(timing.baseline)} of "
        f"{timing.baseline_us:.2f} us {timing.speedup:.3f}x "
        f"({timing.speedup_low:.3f} to {timing.speedup_high:.3f})."
    )


def _shape_lines(evaluation: Evaluation) -> list[str]:
    """Every timed shape where there are several, and what keeps a fast variant from counting."""
    timing = evaluation.timing
    if timing is None or not timing.shapes:
        return []
    lines = ["These are weighted sums over several shapes, of which each was timed:"]
    lines += [
        f"- {inline(shape.workload)}, weight {shape.weight:.3g}: {shape.median_us:.2f} us, "
        f"{shape.speedup:.3f}x ({shape.speedup_low:.3f} to {shape.speedup_high:.3f})."
        for shape in timing.shapes
    ]
    if evaluation.held_back:
        slower = ", ".join(map(inline, evaluation.held_back))
        lines.append(f"It does not count as an improvement while it is slower on {slower}.")
    return ["\n".join(lines)]


def _error_lines(verification: Verification) -> list[str]:
    facts = []
    if verification.worst_ratio is not None:
        facts.append(f"it uses {verification.worst_ratio:.1%} of the tolerance")
    if verification.error_ratio is not None:
        facts.append(f"its error is {verification.error_ratio:.2g} times an honest one")
    return [f"Precision: {'; '.join(facts)}."] if facts else []


def _floor_lines(evaluation: Evaluation, roofline: Roofline) -> list[str]:
    """The position under the analytic roofline: the task's least work at measured ceilings."""
    if roofline.speed_of_light_us is None or evaluation.timing is None:
        return []
    share = roofline.speed_of_light_us / evaluation.timing.heaviest.median_us
    if roofline.beaten_by is not None:
        return [
            f"The task's least work, step by step as the reference does it, would take "
            f"{roofline.speed_of_light_us:.2f} us at this device's measured ceilings. That estimate"
            f" is beaten, by {share:.2f}x: this variant does less work. How much is left is not"
            " known; look for what else need not be done, moved or stored."
        ]
    line = (
        f"The task's least work takes {roofline.speed_of_light_us:.2f} us at this device's measured"
        f" ceilings, so that this stands at {share:.0%} of what is possible"
    )
    rates = [
        f"{rate:.4g} {unit}"
        for rate, unit in (
            (roofline.achieved_gb_per_s, "GB/s"),
            (roofline.achieved_tflop_per_s, "TFLOP/s"),
        )
        if rate is not None
    ]
    return [line + (f" ({' and '.join(rates)} of that least work)." if rates else ".")]


def failure_text(evaluation: Evaluation, source: str, *, condensed: bool = False) -> str:
    """How a variant failed, with the evidence that a repair needs, fenced.

    `condensed`: the compiler's log is as short as it can be already.
    """
    lead, evidence = _FAILURES[evaluation.status](evaluation, source)
    if condensed and evaluation.status == "compile_failed":
        evidence = shortened(clean_log(_log_of(evaluation)).strip(), longest=LONGEST_LOG)
    return f"{lead}\n\n{fence(evidence)}" if evidence else lead


def _compile_failed(evaluation: Evaluation, source: str) -> tuple[str, str]:
    return "It failed: it does not compile.", condensed_log(_log_of(evaluation), source)


def _log_of(evaluation: Evaluation) -> str:
    return (evaluation.build.log if evaluation.build else "") or evaluation.message


def _wrong_result(evaluation: Evaluation, source: str) -> tuple[str, str]:
    found = evaluation.verification
    facts = []
    if found is not None and found.max_error is not None:
        facts.append(f"greatest error {found.max_error:.4g}")
    if found is not None and found.worst_ratio is not None:
        facts.append(f"{found.worst_ratio:.4g} times what the tolerance allows")
    lead = "It failed: its result is wrong" + (f" ({', '.join(facts)})." if facts else ".")
    details = [evaluation.message, found.detail if found else ""]
    return lead, _joined(details)


def _runtime_error(evaluation: Evaluation, source: str) -> tuple[str, str]:
    return "It failed: runtime error.", condensed_log(evaluation.message, source)


def _timed_out(evaluation: Evaluation, source: str) -> tuple[str, str]:
    lead = (
        "It failed: timed out. Look for a loop that does not end, a barrier that not all threads "
        "reach, or far too much work."
    )
    return lead, _joined([evaluation.message])


def _refused(evaluation: Evaluation, source: str) -> tuple[str, str]:
    what = "was refused" if evaluation.status == "refused" else "has a time that cannot be believed"
    lead = f"It failed: it {what}."
    details = [evaluation.message]
    if evaluation.refusal is not None:
        cheat = evaluation.refusal.cheat
        lead += f" Class: {cheat.replace('_', ' ')}. {RULES[cheat]}"
        details.append(evaluation.refusal.evidence)
    return lead, _joined(details)


def _joined(details: list[str]) -> str:
    """Texts that say something new each, shortened."""
    kept: list[str] = []
    for detail in map(clean_log, details):
        if detail.strip() and not any(detail.strip() in other for other in kept):
            kept.append(detail.strip())
    return shortened("\n\n".join(kept), longest=LONGEST_LOG)


_FAILURES = {
    "compile_failed": _compile_failed,
    "wrong_result": _wrong_result,
    "runtime_error": _runtime_error,
    "timed_out": _timed_out,
    "refused": _refused,
    "suspect": _refused,
}
