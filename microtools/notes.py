"""The notes of a guidance: failures, missing measurements, which kernels, what was left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mcts.domain import Evaluation, Finding, Profile, TimelineFacts
from mcts.microtool.tool import KernelContext
from microtools.ranking import Scored

LOG_LINES = 20
NAMED_GAPS = 4

_WHAT_FAILED = {
    "compile_failed": "It did not compile",
    "wrong_result": "Its result is wrong",
    "runtime_error": "It failed when it ran",
    "timed_out": "It ran out of time",
    "suspect": "Its measurement cannot be believed",
    "refused": "It does not do the task's work",
}


def failure(evaluation: Evaluation) -> Iterator[str]:
    """What a repair needs: the message, the mismatch, the end of the compiler's log."""
    yield f"{_WHAT_FAILED[evaluation.status]}: {evaluation.message}"
    verification = evaluation.verification
    if verification is not None and not verification.passed:
        if verification.detail and verification.detail not in evaluation.message:
            yield f"mismatch: {verification.detail}"
        if verification.max_error is not None:
            worst = verification.worst_ratio
            over = f", {worst:.3g} times what is tolerated" if worst is not None else ""
            yield f"greatest error: {verification.max_error:.3g}{over}"
    log = evaluation.build.log.strip() if evaluation.build else ""
    if evaluation.status == "compile_failed" and log and log not in evaluation.message:
        yield "end of the compiler's log:\n" + "\n".join(log.splitlines()[-LOG_LINES:])


def unprofiled(profile: Profile | None) -> Iterator[str]:
    """Why there is nothing to examine."""
    if profile is None:
        yield "It was timed, but not profiled: no counters and no machine code to reason about."
    else:
        yield "No kernel was profiled."
        yield from missing(profile)


def about_kernels(
    profile: Profile, contexts: Sequence[KernelContext], findings: Sequence[Finding]
) -> Iterator[str]:
    """Which kernels were looked at, and which findings are not, or not only, about the longest."""
    if len(profile.kernels) < 2 or not contexts:
        return
    first = contexts[0].kernel.name
    shares = [
        context.kernel.name
        + (f" ({context.share:.0%} of the time)" if context.share is not None else "")
        for context in contexts
    ]
    yield (
        f"{len(profile.kernels)} kernels are profiled; examined: {', '.join(dict.fromkeys(shares))}"
    )
    others = [
        f"{finding.tool} ({finding.kernel})"
        for finding in findings
        if finding.level != "system" and finding.kernel not in ("", first)
    ]
    if others:
        yield f"not about {first} alone: {', '.join(others)}"


def left_out(scored: Sequence[Scored]) -> Iterator[str]:
    """Findings that another one explains, and those whose repair would gain nothing."""
    named = [f"{item.finding.tool} (of {item.cause})" for item in scored if item.explained]
    if named:
        yield f"left out as consequences: {', '.join(named)}"
    by_limit: dict[str, list[str]] = {}
    for item in scored:
        if item.gains_nothing and not item.explained:
            by_limit.setdefault(item.finding.next_limit, []).append(item.finding.tool)
    for limit, tools in by_limit.items():
        limited = f" (limited by {limit})" if limit else ""
        yield f"left out, as less than 5 % would be gained{limited}: {', '.join(tools)}"


def missing(profile: Profile) -> Iterator[str]:
    """What is not known, each reason once."""
    reasons: dict[str, list[str]] = {}
    for name, reason in profile.missing.items():
        reasons.setdefault(reason, []).append(name)
    for reason, names in reasons.items():
        listed = ", ".join(names[:NAMED_GAPS])
        more = f" and {len(names) - NAMED_GAPS} more" if len(names) > NAMED_GAPS else ""
        yield f"not measured: {listed}{more} ({reason})"


def running_share(timeline: TimelineFacts | None) -> float | None:
    """Share of a program's span, first uses left out, in which a kernel ran.

    None if it does not tell: repeated calls are enqueued back to back by the profiler.
    """
    if timeline is None or timeline.calls > 1 or timeline.kernels == 0:
        return None
    span_us = timeline.span_us - timeline.first_use_us
    return min(1.0, timeline.busy_us / span_us) if span_us > 0 else None


def about_idling(running: float | None, least: float) -> Iterator[str]:
    """Why the kernels of a program that keeps the device waiting are not examined."""
    if running is not None and running < least:
        yield (
            f"Kernels run for {running:.1%} of the program's time on the device: what they do "
            "matters once the rest is mended, and is not examined."
        )
