"""The roofline class gates, all gated tools run, and failures reach the repair prompt."""

from __future__ import annotations

from typing import Any

import pytest

from mcts.domain import (
    BoundClass,
    Build,
    Candidate,
    Cost,
    Evaluation,
    Evidence,
    Finding,
    Guidance,
    KernelProfile,
    KernelTask,
    Level,
    Profile,
    SassFacts,
    TimelineFacts,
    Verification,
    Work,
    Workload,
)
from mcts.domain import metrics as m
from mcts.microtool.tool import ANY, KernelContext, Tool
from mcts.ports import Advisor
from microtools import notes
from microtools.advisor import RooflineAdvisor
from tests.microtools.contexts import kernel, roofline
from tests.support.evaluations import measured

TASK = KernelTask(
    name="t",
    dialect="space",
    baseline=Candidate(),
    workloads=(Workload(name="main", shape={"n": 10}),),
    cost=Cost(bytes="8 * n", flops="2 * n"),
)
EVIDENCE = (Evidence(metric="x", value=1, threshold=0),)


def found(name: str, strength: float, **more: Any) -> Finding:
    content = {"axis": "memory", "evidence": EVIDENCE, "advice": "do it", **more}
    return Finding(tool=name, strength=strength, **content)


def a_tool(
    name: str,
    strength: float,
    *affinity: BoundClass,
    level: Level = "kernel",
    symptom_of: frozenset[str] = frozenset(),
    **more: Any,
) -> Tool:
    """A tool that always says the same."""
    return Tool(
        name=name,
        level=level,
        affinity=frozenset(affinity) or ANY,
        judge=lambda context: found(name, strength, **more),
        symptom_of=symptom_of,
    )


def answering(name: str, answer: object) -> Tool:
    return Tool(name=name, level="kernel", affinity=ANY, judge=lambda context: answer)  # type: ignore


def _break(context: KernelContext) -> Finding | None:
    raise ZeroDivisionError("division by zero")


BROKEN = Tool(name="broken", level="kernel", affinity=ANY, judge=_break)


def _measured(bound: BoundClass | None = "memory", **profile: Any) -> Evaluation:
    fields = {
        "kernels": (KernelProfile(name="k"),),
        "roofline": roofline(bound) if bound else None,
        **profile,
    }
    return measured(2.0).model_copy(update={"profile": Profile(**fields)})


def advise(tools: list[Tool], bound: BoundClass | None = "memory", **profile: Any) -> Guidance:
    """What these tools make of a measured candidate with such a profile."""
    return RooflineAdvisor(tools).advise(TASK, _measured(bound, **profile))


def names(guidance: Guidance) -> list[str]:
    return [finding.tool for finding in guidance.findings]


def test_is_an_advisor() -> None:
    assert isinstance(RooflineAdvisor(), Advisor)


def test_the_class_gates_the_tools() -> None:
    tools = [a_tool("a", 0.5, "memory"), a_tool("b", 0.5, "compute"), a_tool("c", 0.5)]
    assert names(advise(tools, "memory")) == ["a", "c"]
    assert names(advise(tools, "compute")) == ["b", "c"]


@pytest.mark.parametrize("bound", ["unknown", None])
def test_without_a_class_every_tool_runs(bound: BoundClass | None) -> None:
    tools = [a_tool("a", 0.5, "memory"), a_tool("b", 0.5, "compute")]
    assert len(advise(tools, bound).findings) == 2


def test_findings_are_ranked_and_ties_keep_their_order() -> None:
    tools = [a_tool("a", 0.2), a_tool("b", 0.9), a_tool("c", 0.2)]
    assert names(advise(tools)) == ["b", "a", "c"]


def test_weights_change_the_ranking_within_bounds() -> None:
    tools = [a_tool("a", 0.5), a_tool("b", 0.6)]
    guidance = RooflineAdvisor(tools, {"a": 1.5}).advise(TASK, _measured())
    assert names(guidance) == ["a", "b"]
    assert guidance.findings[0].strength == 0.5
    strengths = [a_tool("a", 0.2), a_tool("b", 0.9)]
    guidance = RooflineAdvisor(strengths, {"a": 1e9, "b": float("nan")}).advise(TASK, _measured())
    assert names(guidance) == ["b", "a"]


def test_a_tool_sees_the_work_the_time_and_the_kernel() -> None:
    seen: list[KernelContext] = []
    watcher = Tool(name="w", level="kernel", affinity=ANY, judge=seen.append)  # type: ignore
    advise([watcher])
    assert seen[0].work == Work(bytes=80, flops=20) and seen[0].time_us == 50
    assert seen[0].kernel.name == "k" and seen[0].bound == "memory"


def test_a_tool_that_raises_is_skipped_with_a_note() -> None:
    guidance = advise([BROKEN, a_tool("a", 0.5)])
    assert names(guidance) == ["a"]
    assert "micro-tool broken failed: ZeroDivisionError: division by zero" in guidance.notes


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("use more threads", "answered with a str, not a Finding"),
        (["a", "list"], "answered with a list, not a Finding"),
        (True, "answered with a bool, not a Finding"),
        (found("coalescing", 0.5), "answered in the name of 'coalescing'"),
        (Finding.model_construct(tool="odd", strength=7.0), "answered with a broken finding"),
        (
            found("odd", 0.5).model_copy(update={"strength": float("nan")}),
            "answered with a broken finding (strength",
        ),
        (found("odd", 0.5).model_copy(update={"axis": "sideways"}), "broken finding (axis"),
        (found("odd", 0.5).model_copy(update={"methods": 3}), "broken finding (methods"),
    ],
)
def test_a_tool_that_answers_nonsense_is_skipped_with_a_note(answer: object, words: str) -> None:
    guidance = advise([answering("odd", answer), a_tool("a", 0.5)])
    assert names(guidance) == ["a"]
    (note,) = [note for note in guidance.notes if "odd" in note]
    assert words in note and note.endswith("skipped")


def test_a_finding_carries_the_level_of_its_tool() -> None:
    tools = [a_tool("a", 0.5, level="instruction"), a_tool("b", 0.4, level="system")]
    guidance = advise(tools)
    assert [finding.level for finding in guidance.findings] == ["instruction", "system"]


def _kernels(**durations: float) -> tuple[KernelProfile, ...]:
    return tuple(kernel({m.DURATION: ns}, name=name) for name, ns in durations.items())


LEADING = _kernels(small=5e4, second=3e5, longest=6.5e5)


def _at(name: str, **strengths: float) -> Tool:
    """A tool whose strength depends on the kernel it looks at; silent about others."""

    def judge(context: KernelContext) -> Finding | None:
        strength = strengths.get(context.kernel.name)
        return None if strength is None else found(name, strength)

    return Tool(name=name, level="kernel", affinity=ANY, judge=judge)


def test_kernels_that_take_a_quarter_of_the_time_are_examined() -> None:
    tools = [
        _at("a", small=1.0, second=1.0, longest=0.5),
        _at("b", small=1.0),
        _at("c", second=0.9),
    ]
    guidance = advise(tools, kernels=LEADING)
    assert [(f.tool, f.kernel) for f in guidance.findings] == [
        ("a", "longest, second"),  # 0.5 of 65 % outranks 1.0 of 30 %
        ("c", "second"),
    ]
    assert guidance.notes[0] == (
        "3 kernels are profiled; examined: longest (65% of the time), second (30% of the time)"
    )
    assert guidance.notes[1] == "not about longest alone: a (longest, second), c (second)"


def test_a_tool_that_speaks_twice_is_heard_once_at_its_strongest() -> None:
    even = _kernels(one=5e5, two=5e5)
    guidance = advise([_at("a", one=0.3, two=0.8)], kernels=even)
    (finding,) = guidance.findings
    assert finding.strength == 0.8 and finding.kernel == "two, one"


def test_a_gain_counts_for_its_kernels_share_of_the_time() -> None:
    tool = a_tool("a", 0.5, expected_gain=2.0)
    alone = advise([tool])
    assert alone.findings[0].expected_gain == 2.0 and alone.findings[0].kernel == ""
    halves = advise([tool], kernels=_kernels(a=5e5, b=5e5))
    assert halves.findings[0].expected_gain == 1.33


def test_every_kernel_is_examined_if_none_was_timed() -> None:
    kernels = tuple(kernel(name=name) for name in ("a", "b", "c"))
    tool = _at("t", a=0.3, b=0.6, c=0.5)
    guidance = advise([tool], kernels=kernels)
    assert guidance.findings[0].kernel == "b, c, a"


def test_system_tools_run_once_per_profile() -> None:
    guidance = advise([a_tool("s", 0.5, level="system")], kernels=LEADING)
    (finding,) = guidance.findings
    assert finding.kernel == ""


def test_a_timeline_alone_is_enough_for_system_tools() -> None:
    timeline = TimelineFacts(
        source="nsys", span_us=1000, busy_us=100, gap_us=800, kernels=50, short_kernels=50
    )
    guidance = RooflineAdvisor().examine(
        work=None, profile=Profile(timeline=timeline), time_us=None
    )
    assert names(guidance) == ["launch_overhead"]


def _program(busy_us: float, **facts: Any) -> TimelineFacts:
    window = {"source": "nsys", "span_us": 1000, "kernels": 2, "busy_us": busy_us, **facts}
    return TimelineFacts(**window)


def test_kernels_of_a_program_that_keeps_the_device_waiting_are_not_examined() -> None:
    tools = [a_tool("k", 0.9), a_tool("s", 0.3, level="system")]
    idling = advise(tools, timeline=_program(240))
    assert names(idling) == ["s"]
    (note,) = [note for note in idling.notes if "is not examined" in note]
    assert note.startswith("Kernels run for 24.0% of the program's time on the device")
    busy = advise(tools, timeline=_program(250))
    assert {finding.tool for finding in busy.findings} == {"k", "s"}
    assert not [note for note in busy.notes if "is not examined" in note]


@pytest.mark.parametrize(
    ("busy_us", "first"), [(1000.0, "k"), (600.0, "k"), (450.0, "s"), (300.0, "s")]
)
def test_findings_on_kernels_rank_by_the_time_that_kernels_run(busy_us: float, first: str) -> None:
    tools = [a_tool("k", 0.8), a_tool("s", 0.4, level="system")]
    guidance = advise(tools, timeline=_program(busy_us))
    assert guidance.findings[0].tool == first
    assert {finding.tool: finding.strength for finding in guidance.findings} == {"k": 0.8, "s": 0.4}


def test_repeated_calls_and_first_uses_are_no_idling() -> None:
    tool = a_tool("k", 0.9)
    for timeline in (
        _program(100, calls=5),
        _program(100, kernels=0),
        _program(100, first_use_us=800),
        _program(0, first_use_us=1000),
    ):
        guidance = advise([tool], timeline=timeline)
        assert names(guidance) == ["k"] and not guidance.notes


@pytest.mark.parametrize(
    ("timeline", "share"),
    [
        (None, None),
        (_program(300), 0.3),
        (_program(300, first_use_us=400), 0.5),
        (_program(2000), 1.0),
        (_program(300, calls=2), None),
        (_program(300, kernels=0), None),
        (_program(300, first_use_us=1000), None),
    ],
)
def test_the_share_of_a_programs_time_in_which_kernels_run(
    timeline: TimelineFacts | None, share: float | None
) -> None:
    assert notes.running_share(timeline) == share


def test_machine_code_alone_is_enough_for_instruction_tools() -> None:
    code = SassFacts(instructions=100, local_loads=9, local_stores=9, global_loads={"8": 3})
    profile = Profile(
        kernels=(KernelProfile(name="k", sass=code),), missing={"ncu": "nothing was run"}
    )
    guidance = RooflineAdvisor().examine(work=None, profile=profile, time_us=None)
    assert {finding.tool for finding in guidance.findings} == {"register_spills", "narrow_access"}
    assert {finding.level for finding in guidance.findings} == {"instruction"}
    assert "not measured: ncu (nothing was run)" in guidance.notes


def test_a_symptom_is_left_out_as_far_as_its_cause_explains_it() -> None:
    symptom = a_tool("symptom", 1.0, symptom_of=frozenset({"cause"}))
    strong = advise([symptom, a_tool("cause", 0.9)])
    assert names(strong) == ["cause"]
    assert "left out as consequences: symptom (of cause)" in strong.notes
    assert names(advise([symptom, a_tool("cause", 0.3)])) == ["symptom", "cause"]
    assert names(advise([symptom, a_tool("cause", 0.6)])) == ["cause", "symptom"]


def test_a_cause_in_one_kernel_explains_nothing_in_another() -> None:
    symptom = Tool(
        name="symptom",
        level="kernel",
        affinity=ANY,
        judge=lambda context: found("symptom", 1.0) if context.kernel.name == "two" else None,
        symptom_of=frozenset({"cause"}),
    )
    even = _kernels(one=5e5, two=5e5)
    guidance = advise([symptom, _at("cause", one=1.0)], kernels=even)
    assert {finding.tool for finding in guidance.findings} == {"symptom", "cause"}


def test_missing_measurements_are_noted_once_per_reason() -> None:
    missing = {f"metric_{i}": "refused" for i in range(6)}
    guidance = advise([], missing=missing)
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


def of_library(share: float) -> Profile:
    """A kernel beside a library's that takes `share` of the time."""
    own = kernel({m.DURATION: 1e5 * (1 - share)}, name="mine")
    other = kernel({m.DURATION: 1e5 * share}, name="gemm").model_copy(update={"library": True})
    return Profile(kernels=(own, other))


def test_kernels_of_libraries_are_told_of_but_not_examined() -> None:
    tools = [a_tool("local", 0.5, *ANY), a_tool("whole", 0.5, *ANY, level="system")]
    some = RooflineAdvisor(tools).examine(work=None, profile=of_library(0.6), time_us=None)
    assert [(one.tool, one.kernel) for one in some.findings] == [("whole", ""), ("local", "mine")]
    most = RooflineAdvisor(tools).examine(work=None, profile=of_library(0.9), time_us=None)
    assert names(most) == ["whole"]
    assert not [note for note in most.notes if "No kernel" in note]


def test_the_work_that_an_evaluator_found_out_stands_in_for_one_that_is_not_declared() -> None:
    seen: list[Work | None] = []

    def listen(context: KernelContext) -> None:
        seen.append(context.work)

    tool = Tool(name="listens", level="system", affinity=ANY, judge=listen)
    found_out = Work(bytes=7, flops=9)
    evaluation = _measured(work=found_out)
    RooflineAdvisor([tool]).advise(TASK.model_copy(update={"cost": None}), evaluation)
    RooflineAdvisor([tool]).advise(TASK, evaluation)
    assert seen == [found_out, Work.of(TASK)]
