"""A node's page: all that is known of one node, as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments.text import worth as worth_text
from experiments.text.quantities import energy_text
from experiments.text.spending import cost_text
from experiments.views.branching import Tried, branch_rows
from experiments.views.report.account import usage_rows
from experiments.views.report.conversations import Conversation
from experiments.views.report.outcomes import status_text
from experiments.views.report.packing import Packer
from experiments.views.report.roofs import place_of
from experiments.views.report.text import (
    LOG_LIMIT,
    MESSAGE_LIMIT,
    SOURCE_LIMIT,
    cleaned,
    line,
    shown,
)
from mcts.domain import Evaluation, Latency, Profile
from mcts.journal.record import NodeRecord

SAMPLES = 200
"""Single calls that are drawn of each measurement."""
_SASS = frozenset({"loops", "lines", "opcodes", "mix", "code_hash"})


def detail(
    node: NodeRecord,
    packer: Packer,
    *,
    tried: tuple[Tried, ...] = (),
    conversations: Sequence[Conversation] = (),
) -> dict[str, Any]:
    """The page of `node`. `tried` are its branches that lost, `conversations` what the model
    was asked.

    Sources and conversations are packed by themselves and named here by their numbers.
    """
    profile = node.evaluation.profile if node.evaluation else None
    found: dict[str, Any] = {
        "search": _search(node),
        "reason": shown(node.reason, LOG_LIMIT),
        **_candidate(node, packer),
        "evaluation": _evaluation(node.evaluation),
        "confirmed": _evaluation(node.confirmed),
        "roofline": _roofline(node),
        **_guidance(node),
        "kernels": _kernels(profile),
        "missing": cleaned(profile.missing) if profile else None,
        "usage": usage_rows(node),
        "talks": [packer.add(_messages(one)) for one in conversations],
        "branches": [[line(text) for text in row] for row in branch_rows(node, tried)]
        if tried
        else [],
        "attributions": [
            [line(text, 300) for text in worth_text.cells(node.id, one)[1:]]
            for one in node.attributions
        ],
    }
    return {name: value for name, value in found.items() if value not in (None, "", [], {})}


def _search(node: NodeRecord) -> dict[str, Any]:
    return {
        "reward": cleaned(node.reward),
        "value": cleaned(node.value),
        "prior": cleaned(node.prior),
        "visits": node.visits,
        "gpu_s": cleaned(node.spending.gpu_s),
        "cost": cost_text(node.spending),
        "restarted": node.restarted,
    }


def _candidate(node: NodeRecord, packer: Packer) -> dict[str, Any]:
    candidate = node.candidate
    if candidate is None:
        return {}
    source = shown(candidate.source, SOURCE_LIMIT)
    return {
        "rationale": shown(candidate.rationale, LOG_LIMIT),
        "tunables": {line(name): cleaned(value) for name, value in candidate.tunables.items()},
        "methods": [line(name) for name in candidate.methods],
        "source": packer.add(source) if source else None,
    }


def _evaluation(evaluation: Evaluation | None) -> dict[str, Any] | None:
    if evaluation is None:
        return None
    kept = evaluation.model_dump(
        mode="json",
        include={"build", "verification", "refusal", "notes"},
        exclude_defaults=True,
    )
    found = {
        "status": status_text(evaluation),
        "message": shown(evaluation.message, LOG_LIMIT),
        **cleaned(kept),
        "isolation": str(evaluation.isolation) if evaluation.isolation else None,
        "energy": energy_text(evaluation.energy) if evaluation.energy else None,
    }
    if evaluation.timing is not None:
        found["timing"] = _latency(evaluation.timing)
        found["timing"]["baseline"] = line(evaluation.timing.baseline)
        found["timing"]["shapes"] = [
            {"workload": line(shape.workload), "weight": shape.weight, **_latency(shape)}
            for shape in evaluation.timing.shapes
        ]
    return {name: value for name, value in found.items() if value}


def _latency(timing: Latency) -> dict[str, Any]:
    names = (
        "median_us", "low_us", "high_us", "baseline_us", "speedup", "speedup_low", "speedup_high",
        "rounds", "host_us", "detectable",
    )  # fmt: skip
    return {
        **{name: cleaned(getattr(timing, name)) for name in names},
        "samples_us": cleaned(timing.samples_us[:SAMPLES]),
        "baseline_samples_us": cleaned(timing.baseline_samples_us[:SAMPLES]),
    }


def _roofline(node: NodeRecord) -> dict[str, Any] | None:
    roofline, place = node.roofline, place_of(node)
    if roofline is None or place is None:
        return None
    found: dict[str, Any] = cleaned(roofline.model_dump(mode="json"))
    return found | {"intensity": cleaned(place.intensity), "counted": place.counted}


def _guidance(node: NodeRecord) -> dict[str, Any]:
    if node.guidance is None:
        return {}
    findings = []
    for finding in node.guidance.findings:
        told = cleaned(finding.model_dump(mode="json", exclude={"evidence"}, exclude_defaults=True))
        told["evidence"] = [
            [line(each.metric), cleaned(each.value), cleaned(each.threshold), line(each.unit)]
            for each in finding.evidence
        ]
        findings.append(told)
    return {"findings": findings, "notes": cleaned(node.guidance.notes)}


def _kernels(profile: Profile | None) -> list[dict[str, Any]]:
    found = []
    for kernel in profile.kernels if profile else ():
        sass = kernel.sass.model_dump(mode="json", exclude=set(_SASS)) if kernel.sass else {}
        found.append(
            {
                "name": line(kernel.name),
                "launches": kernel.launches,
                "metrics": [
                    [line(name), cleaned(metric.value), line(metric.unit)]
                    for name, metric in sorted(kernel.metrics.items())
                ],
                "sass": {name: value for name, value in sass.items() if value},
            }
        )
    return found


def _messages(one: Conversation) -> list[list[str]]:
    return [[line(each.role, 40), shown(each.text, MESSAGE_LIMIT)] for each in one.messages]
