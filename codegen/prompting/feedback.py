"""What the profile says: as advice in plain language, as raw counters, in a digest, or not at all.

They differ in these sections alone, which have a share of the budget to themselves, so that what
else a prompt holds does not depend on them: that is what makes them comparable.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from codegen.playbook import Method, methods_for
from codegen.prompting.budget import Part, Section, estimate_tokens
from codegen.prompting.evidence import evidence_texts
from codegen.prompting.untrusted import clean, fence, inline, shortened
from mcts.domain import Guidance, KernelProfile, Profile, SassFacts, TimelineFacts
from mcts.options.model import Feedback
from mcts.ports import ProposalRequest

FEEDBACK_TOKENS = 3000
"""The share of the budget that is set aside for these sections, whatever they hold."""
_MAX_METHODS = 6
_MAX_LINES = 20
_MAX_NOTES = 1000
_NO_NAME = re.compile(r"[^\w:<>,*&.() -]")


def feedback_sections(
    request: ProposalRequest, feedback: Feedback, known: Mapping[str, Method]
) -> tuple[Section, ...]:
    """The sections for a measured parent, within their own budget; `known` methods are explained.

    With `both` the counters have the room that the advice leaves, with `evidence+tools` the advice
    that which the evidence leaves.
    """
    if not request.evaluation.measured:
        return ()
    found, room = [], FEEDBACK_TOKENS
    if feedback in ("evidence", "evidence+tools"):
        texts = evidence_texts(request.profile, before=request.profile_before)
        parts, room = _fitting(texts, room)
        found.append(Section(title="What the profile measured", parts=parts, joint="\n\n"))
    if feedback in ("tools", "both", "evidence+tools", "chosen"):
        texts = _advice(request.guidance, request.parent.source, known)
        parts, room = _fitting(texts, room)
        found.append(Section(title="Advice from the profile", parts=parts, joint="\n\n"))
    if feedback in ("counters", "both"):
        parts, room = _fitting(_counters(request.profile), room)
        found.append(Section(title="Counters of the profile", parts=parts))
    return tuple(found)


def _fitting(texts: Sequence[str], room: int) -> tuple[tuple[Part, ...], int]:
    """As many of `texts` as fit into `room` tokens, and the room that is left; the first always, if
    need be cut.
    """
    kept = []
    for at, text in enumerate(texts):
        tokens = estimate_tokens(text)
        if tokens > room:
            if at == 0:
                kept.append(shortened(text, longest=3 * room))
            kept.append(f"({len(texts) - max(1, at)} more left out for want of room)")
            break
        room -= tokens
        kept.append(text)
    return tuple(map(Part, kept)), room


def _advice(guidance: Guidance, source: str, known: Mapping[str, Method]) -> list[str]:
    """Class, axis budget and ranked findings; then how to do what they point to."""
    findings = tuple(
        finding.model_copy(update={"kernel": _NO_NAME.sub("", finding.kernel)[:80]})
        for finding in guidance.findings
    )
    told = guidance.model_copy(update={"findings": findings, "notes": ()})
    texts = [clean(told.render())]
    if lines := _lines_meant(guidance, source):
        texts.append(f"The lines meant:\n\n{fence(lines)}")
    methods = _pointed_to(guidance, known)
    if methods:
        texts.append("How the methods that apply here are done:")
        texts += [_how_to(method) for method in methods]
    if guidance.notes:
        notes = "\n".join(inline(note, longest=300) for note in guidance.notes)
        texts.append(f"Notes:\n\n{fence(shortened(notes, longest=_MAX_NOTES))}")
    return texts


def _lines_meant(guidance: Guidance, source: str) -> str:
    """The lines of the source that findings name, so that nobody has to count."""
    code = source.splitlines()
    named = sorted({line for finding in guidance.findings for line in finding.lines})
    found = [line for line in named if 1 <= line <= len(code)][:_MAX_LINES]
    return "\n".join(f"{line:>4} | {code[line - 1].rstrip()[:160]}" for line in found)


def _pointed_to(guidance: Guidance, known: Mapping[str, Method]) -> list[Method]:
    """What the findings name, then what suits the bound on axes that have a slot."""
    named = [m for finding in guidance.findings for m in finding.methods if m in known]
    roofline = guidance.roofline
    if not named and roofline is not None:
        slots = roofline.method_budget
        named = [m.id for m in methods_for(roofline.bound, known) if slots.get(m.axis)]
    return [known[name] for name in dict.fromkeys(named)][:_MAX_METHODS]


def _how_to(method: Method) -> str:
    text = f"- `{method.id}`: {method.advice}"
    if method.signature is not None:
        seen = [*method.signature.opcodes, method.signature.facts]
        text += f" In machine code it shows as: {'; '.join(filter(None, seen))}."
    return text


def _counters(profile: Profile | None) -> list[str]:
    """A table of all that was measured, unjudged; and what was not."""
    if profile is None or not (profile.kernels or profile.timeline):
        return ["Nothing was profiled."]
    texts = ["| kernel | metric | value | unit |\n| --- | --- | --- | --- |"]
    for kernel in profile.kernels:
        texts += _rows(kernel)
    if profile.timeline is not None:
        texts += [
            f"| (timeline) | {name} | {value:g} | |" for name, value in _facts(profile.timeline)
        ]
    if profile.missing:
        missing = "\n".join(f"{name}: {why}" for name, why in profile.missing.items())
        texts.append(f"\nNot measured:\n\n{fence(shortened(missing, longest=_MAX_NOTES))}")
    return texts


def _rows(kernel: KernelProfile) -> Iterator[str]:
    name = inline(_NO_NAME.sub("", kernel.name), longest=40)
    yield f"| {name} | launches | {kernel.launches} | |"
    for metric, found in sorted(kernel.metrics.items()):
        yield f"| {name} | {inline(metric)} | {found.value:.6g} | {inline(found.unit)} |"
    if kernel.sass is not None:
        for fact, value in _facts(kernel.sass):
            yield f"| {name} | sass {fact} | {value:g} | |"


def _facts(facts: SassFacts | TimelineFacts) -> Iterator[tuple[str, float]]:
    """Numbers of a noun by field, and those of its tables by field and key."""
    for field in type(facts).model_fields:
        value = getattr(facts, field)
        if isinstance(value, bool) or value is None:
            continue
        if isinstance(value, int | float):
            yield field, value
        elif isinstance(value, dict):
            counted = ((k, v) for k, v in value.items() if isinstance(v, int | float))
            yield from ((f"{field}.{key}", number) for key, number in counted)
