"""What a model is told: the task, the variant, its measurement, the advice, the methods."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import lru_cache
from importlib.resources import files
from statistics import geometric_mean

from codegen.chat import Message
from codegen.plan_text import with_defaults
from codegen.playbook import Method, methods_on, playbook
from mcts.domain import Evaluation, Guidance, Hardware, KernelTask, Lesson, TunableSpace
from mcts.ports import ProposalRequest

_LOG_CHARACTERS = 4000
_MAX_LESSONS = 10


def source_messages(request: ProposalRequest, hardware: Hardware | None) -> list[Message]:
    """Ask for a whole new source."""
    return _messages("system_source.md", [*_opening(request, hardware), *_closing(request)])


def values_messages(
    request: ProposalRequest, hardware: Hardware | None, space: TunableSpace
) -> list[Message]:
    """Ask for tunable values alone."""
    sections = [*_opening(request, hardware), _space_section(space), *_closing(request)]
    return _messages("system_values.md", sections)


def fence(text: str, language: str = "") -> str:
    """A code block whose fence is longer than any run of backticks within, so that the text
    cannot end it.
    """
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    mark = "`" * max(3, longest + 1)
    return f"{mark}{language}\n{text.strip()}\n{mark}"


@lru_cache(maxsize=4)
def _template(name: str) -> str:
    return files("codegen").joinpath("prompts", name).read_text(encoding="utf-8")


def _messages(system: str, sections: list[str]) -> list[Message]:
    body = "\n\n".join(section for section in sections if section)
    return [
        {"role": "system", "content": _template(system)},
        {"role": "user", "content": body},
    ]


def _opening(request: ProposalRequest, hardware: Hardware | None) -> list[str]:
    return [
        _task_section(request.task),
        f"# Hardware\n\n{_hardware_text(hardware)}" if hardware else "",
        _variant_section(request),
        f"# Its result\n\n{_result_text(request.evaluation)}",
    ]


def _closing(request: ProposalRequest) -> list[str]:
    return [
        f"# Advice from the profile\n\n{request.guidance.render()}",
        _lessons_section(request.lessons),
        _methods_section(request.guidance),
        _order_section(request),
    ]


def _task_section(task: KernelTask) -> str:
    lines = [f"# Task: {task.name}", ""]
    if task.summary:
        lines += [fence(task.summary), ""]
    for buffer in task.buffers:
        extents = ", ".join(map(str, buffer.shape))
        lines.append(f"- {buffer.role} `{buffer.name}`: {buffer.dtype} [{extents}], row-major")
    for load in task.workloads:
        shape = ", ".join(f"{name} = {value}" for name, value in load.shape.items()) or "no shape"
        timed = f"timed, weight {load.weight:g}" if load.weight else "verified only"
        lines.append(f"- workload `{load.name}` ({timed}): {shape}")
    if task.reference is not None:
        tolerance = task.tolerance
        lines.append(
            f"- an output passes where |out - ref| <= {tolerance.absolute:g} + "
            f"{tolerance.relative:g} * |ref|"
        )
        lines += ["", "Reference (float64):", "", fence(task.reference, "python")]
    if task.cost is not None:
        lines.append(
            f"\nAny implementation moves at least {task.cost.bytes} bytes and does at least "
            f"{task.cost.flops} operations ({task.cost.math})."
        )
    return "\n".join(lines)


def _hardware_text(hardware: Hardware) -> str:
    facts = [str(hardware)]
    if hardware.compute_capability:
        facts.append(f"compute capability {hardware.compute_capability}")
    if hardware.multiprocessors:
        facts.append(f"{hardware.multiprocessors} multiprocessors")
    if hardware.l2_bytes:
        facts.append(f"L2 {hardware.l2_bytes / 2**20:.0f} MiB")
    ceilings = hardware.ceilings
    if ceilings is not None:
        facts.append(f"measured copy bandwidth {ceilings.copy_gb_per_s:.0f} GB/s")
        if ceilings.fp32_tflop_per_s is not None:
            facts.append(f"measured fp32 peak {ceilings.fp32_tflop_per_s:.1f} TFLOP/s")
        if ceilings.launch_us is not None:
            facts.append(f"an empty launch takes {ceilings.launch_us:.1f} us")
    return ", ".join(facts) + "."


def _variant_section(request: ProposalRequest) -> str:
    parent = request.parent
    lines = ["# The variant", ""]
    if parent.tunables:
        values = ", ".join(f"{name} = {value}" for name, value in parent.tunables.items())
        lines += [f"Values of its tunables: {values}", ""]
    if parent.source:
        source = parent.source
        if request.task.dialect == "cuda":
            source = with_defaults(source, parent.tunables)
        lines += [fence(source, "cuda"), ""]
    if parent.rationale:
        lines += ["Why it was tried:", "", fence(parent.rationale)]
    return "\n".join(lines).rstrip()


def _result_text(evaluation: Evaluation) -> str:
    timing = evaluation.timing
    if evaluation.measured and timing is not None:
        return (
            f"Correct. {timing.median_us:.2f} us (95 % interval {timing.low_us:.2f} to "
            f"{timing.high_us:.2f}); speedup over the baseline {timing.speedup:.3f}x "
            f"({timing.speedup_low:.3f} to {timing.speedup_high:.3f})."
        )
    text = f"It failed: {evaluation.status.replace('_', ' ')}."
    details = [evaluation.message]
    if evaluation.verification is not None:
        details.append(evaluation.verification.detail)
    if evaluation.build is not None:
        details.append(evaluation.build.log)
    log = "\n\n".join(dict.fromkeys(detail for detail in details if detail))
    return f"{text}\n\n{fence(_shortened(log))}"


def _shortened(log: str) -> str:
    """Head and tail of a long log: the first error is at one of them."""
    if len(log) <= _LOG_CHARACTERS:
        return log
    half = _LOG_CHARACTERS // 2
    return f"{log[:half]}\n... {len(log) - 2 * half} characters left out ...\n{log[-half:]}"


def _space_section(space: TunableSpace) -> str:
    lines = ["# Tunables", ""]
    for name, tunable in space.tunables.items():
        values = ", ".join(map(str, tunable.values))
        about = "; ".join(part for part in (tunable.help, ", ".join(tunable.methods)) if part)
        lines.append(f"- {name}: one of {values}" + (f" ({about})" if about else ""))
    if space.where:
        lines += ["", "Every combination must satisfy:", *(f"- `{text}`" for text in space.where)]
    if space.rows:
        lines += ["", f"Of all combinations only {len(space.rows)} were recorded."]
    return "\n".join(lines)


def _lessons_section(lessons: tuple[Lesson, ...]) -> str:
    """Per method what became of it so far; the request gives the most relevant lessons first."""
    if not lessons:
        return ""
    by_method: dict[str, list[Lesson]] = defaultdict(list)
    for lesson in lessons:
        by_method[lesson.method].append(lesson)
    lines = ["# What earlier variants of this run taught", ""]
    for method, learned in list(by_method.items())[:_MAX_LESSONS]:
        gains = [lesson.gain for lesson in learned if lesson.gain is not None]
        failed = sum(lesson.outcome == "failed" for lesson in learned)
        facts = [f"tried {len(learned)} times"]
        if gains:
            facts.append(f"mean gain {geometric_mean(gains):.2f}x, best {max(gains):.2f}x")
        if failed:
            facts.append(f"{failed} failed")
        lines.append(f"- {method}: {', '.join(facts)}")
    return "\n".join(lines)


def _methods_section(guidance: Guidance) -> str:
    lines = ["# Methods to choose from", ""]
    lines += [
        f"- `{m.id}` ({m.axis}): {m.description} Applies when: {m.applies_when}"
        for m in _offered(guidance)
    ]
    return "\n".join(lines)


def _offered(guidance: Guidance) -> list[Method]:
    """What the findings point to, then the axes that the roofline gives slots; else all."""
    roofline = guidance.roofline
    if roofline is None or not any(roofline.method_budget.values()):
        return list(playbook().values())
    named = [m for finding in guidance.findings for m in finding.methods if m in playbook()]
    budgeted = [
        method.id
        for axis, slots in sorted(roofline.method_budget.items(), key=lambda item: -item[1])
        for method in (methods_on(axis) if slots else ())
        if roofline.bound == "unknown" or roofline.bound in method.bounds
    ]
    offered = [playbook()[method_id] for method_id in dict.fromkeys([*named, *budgeted])]
    return offered or list(playbook().values())


def _order_section(request: ProposalRequest) -> str:
    if request.move.kind == "repair":
        order = "Repair this variant: find why it failed and mend it, keeping its idea if you can."
    else:
        order = "Write the next variant: faster than this one."
    if request.move.ordinal:
        order += (
            f" {request.move.ordinal} other variants were already derived from it: take another "
            "direction than the obvious one."
        )
    return f"# Now\n\n{order}"
