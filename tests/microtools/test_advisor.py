"""The roofline class gates, all gated tools run, and failures reach the repair prompt."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import Any

import pytest

from mcts.domain import (
    AxisGap,
    BoundClass,
    Build,
    Candidate,
    Evaluation,
    Evidence,
    Finding,
    KernelProfile,
    KernelTask,
    Profile,
    Roofline,
    Timing,
    Verification,
    Workload,
)
from mcts.ports import Advisor
from microtools import registry
from microtools.advisor import RooflineAdvisor
from microtools.tool import ANY, Case, Tool

TASK = KernelTask(
    name="t",
    dialect="space",
    baseline=Candidate(),
    workloads=(Workload(name="main", shape={}),),
)


def _tool(name: str, strength: float, *affinity: BoundClass) -> Tool:
    def judge(case: Case) -> Finding | None:
        evidence = (Evidence(metric="x", value=1, threshold=0),)
        return Finding(
            tool=name, axis="memory", strength=strength, evidence=evidence, advice="do it"
        )

    return Tool(name=name, level="kernel", affinity=frozenset(affinity) or ANY, judge=judge)


def _break(case: Case) -> Finding | None:
    raise ZeroDivisionError("division by zero")


BROKEN = Tool(name="broken", level="kernel", affinity=ANY, judge=_break)


def _measured(bound: BoundClass | None = "memory", **profile: Any) -> Evaluation:
    roofline = None
    if bound is not None:
        roofline = Roofline(
            bound=bound,
            confidence=0.9,
            gap=AxisGap(compute=0.5, memory=0.5, latency=0.5),
            near_peak=False,
            method_budget={"compute": 1, "memory": 1, "latency": 1},
        )
    fields = {"kernels": (KernelProfile(name="k"),), "roofline": roofline, **profile}
    return Evaluation(
        candidate_id="c",
        status="measured",
        verification=Verification(passed=True, rounds=1),
        timing=Timing(
            median_us=1, low_us=1, high_us=1, baseline_us=1, speedup=1, speedup_low=1,
            speedup_high=1, rounds=1,
        ),
        profile=Profile(**fields),
    )  # fmt: skip


def test_is_an_advisor() -> None:
    assert isinstance(RooflineAdvisor(), Advisor)


def test_the_class_gates_the_tools() -> None:
    tools = [_tool("a", 0.5, "memory"), _tool("b", 0.5, "compute"), _tool("c", 0.5)]
    advisor = RooflineAdvisor(tools)
    assert [f.tool for f in advisor.advise(TASK, _measured("memory")).findings] == ["a", "c"]
    assert [f.tool for f in advisor.advise(TASK, _measured("compute")).findings] == ["b", "c"]


@pytest.mark.parametrize("bound", ["unknown", None])
def test_without_a_class_every_tool_runs(bound: BoundClass | None) -> None:
    tools = [_tool("a", 0.5, "memory"), _tool("b", 0.5, "compute")]
    assert len(RooflineAdvisor(tools).advise(TASK, _measured(bound)).findings) == 2


def test_findings_are_ranked_and_ties_keep_their_order() -> None:
    tools = [_tool("a", 0.2), _tool("b", 0.9), _tool("c", 0.2)]
    guidance = RooflineAdvisor(tools).advise(TASK, _measured())
    assert [finding.tool for finding in guidance.findings] == ["b", "a", "c"]


def test_a_tool_that_raises_is_skipped_with_a_note() -> None:
    guidance = RooflineAdvisor([BROKEN, _tool("a", 0.5)]).advise(TASK, _measured())
    assert [finding.tool for finding in guidance.findings] == ["a"]
    assert "micro-tool broken failed: ZeroDivisionError: division by zero" in guidance.notes


def test_what_was_not_measured_is_said_once_per_reason() -> None:
    missing = {f"metric_{i}": "refused" for i in range(6)}
    guidance = RooflineAdvisor([]).advise(TASK, _measured(missing=missing))
    assert guidance.notes == (
        "not measured: metric_0, metric_1, metric_2, metric_3 and 2 more (refused)",
    )


def test_no_profile_says_what_is_missing() -> None:
    unprofiled = _measured().model_copy(update={"profile": None})
    assert "not profiled" in RooflineAdvisor().advise(TASK, unprofiled).render()
    refused = _measured(kernels=(), missing={"ncu": "counters are refused"})
    assert "counters are refused" in RooflineAdvisor().advise(TASK, refused).render()


def test_a_compile_failure_carries_the_end_of_its_log() -> None:
    log = "\n".join(f"line {i}" for i in range(50))
    failed = Evaluation(
        candidate_id="c", status="compile_failed", message="3 errors", build=Build(log=log)
    )
    text = RooflineAdvisor().advise(TASK, failed).render()
    assert "It did not compile: 3 errors" in text
    assert "line 49" in text
    assert "line 12" not in text


def test_a_wrong_result_carries_the_mismatch() -> None:
    verification = Verification(
        passed=False, rounds=1, max_error=0.5, worst_ratio=300, detail="y[3] is 1, not 2"
    )
    failed = Evaluation(
        candidate_id="c", status="wrong_result", message="differs", verification=verification
    )
    text = RooflineAdvisor().advise(TASK, failed).render()
    assert "y[3] is 1, not 2" in text
    assert "greatest error: 0.5, 300 times what is tolerated" in text


def test_a_fault_carries_its_message() -> None:
    failed = Evaluation(candidate_id="c", status="runtime_error", message="illegal address")
    assert "It failed when it ran: illegal address" in RooflineAdvisor().advise(TASK, failed).notes


def test_foreign_tools_are_found_and_bad_ones_noted() -> None:
    group = registry.GROUP
    points = [
        EntryPoint(name="async_copy", value="no.such.module:TOOL", group=group),
        EntryPoint(name="foreign", value="microtools.issue:STARVED", group=group),
        EntryPoint(name="gone", value="no.such.module:TOOL", group=group),
        EntryPoint(name="mine", value=f"{registry.__name__}:_EXAMPLE", group=group),
    ]
    registry._EXAMPLE = _tool("mine", 0.5)  # type: ignore[attr-defined]
    try:
        tools, notes = registry.load(points)
    finally:
        del registry._EXAMPLE  # type: ignore[attr-defined]
    assert [tool.name for tool in tools] == [*(t.name for t in registry.BUILTIN), "mine"]
    assert len(notes) == 2
    assert "'foreign'" in notes[0]
    assert "'gone'" in notes[1]
