"""What a repair would gain, by the model of a kernel's time."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcts.domain import AxisGap, Finding, KernelProfile, Metric, Profile, Roofline, Work
from mcts.domain import metrics as m
from mcts.microtool.kernel_context import KernelContext
from mcts.microtool.relief import Relief
from mcts.microtool.tool import ANY, Tool
from microtools import registry
from microtools.advisor import RooflineAdvisor
from microtools.gains import HIGH, LOW, STALLS, UNITS, WAITING, outlook
from microtools.reliefs import RELIEFS

LATENCY = {m.WARP_LATENCY: 10.0, m.STALL_LONG_SCOREBOARD: 6.0, m.STALL_BARRIER: 3.0}


def context(values: dict[str, float], *, work: Work | None = None) -> KernelContext:
    metrics = {name: Metric(value=value) for name, value in values.items()}
    kernel = KernelProfile(name="k", metrics=metrics)
    return KernelContext(work, Profile(kernels=(kernel,)), kernel, 10.0)


def test_half_the_traffic_of_a_full_memory_is_half_the_time_until_another_unit_is_full() -> None:
    seen = context({m.DRAM: 92.0, m.L2: 60.0, **LATENCY})
    found = outlook(seen, Relief({m.DRAM: 0.5}))
    assert found is not None
    assert (found.gain, found.limit) == (pytest.approx(1 / 0.6), "L2")
    assert (found.low, found.high) == (pytest.approx(LOW / 0.6), pytest.approx(HIGH / 0.6))
    nothing = outlook(seen, Relief())
    assert nothing is not None and (nothing.gain, nothing.limit) == (1.0, "DRAM")


def test_a_kernel_that_waits_gains_what_it_waits_less() -> None:
    seen = context({m.DRAM: 20.0, **LATENCY})
    found = outlook(seen, Relief(waits={m.STALL_LONG_SCOREBOARD: 0.5}))
    assert found is not None and (found.gain, found.limit) == (pytest.approx(1 / 0.7), WAITING)
    half = outlook(seen, Relief(parallel=0.5))
    assert half is not None and half.gain == pytest.approx(2.0)
    assert half.limit == WAITING


def test_fewer_instructions_wait_less_too() -> None:
    found = outlook(context({m.ISSUE: 0.3, **LATENCY}), Relief({m.ISSUE: 0.5}))
    assert found is not None and found.gain == pytest.approx(2.0)


def test_waits_for_a_full_unit_do_not_count() -> None:
    seen = context({m.SHARED: 95.0, m.FMA_PIPE: 30.0, **LATENCY})
    found = outlook(seen, Relief({m.SHARED: 0.2}))
    assert found is not None
    assert (found.gain, found.limit) == (pytest.approx(0.95 / 0.3), "the multiply-add pipe")


def test_nothing_is_said_without_counters() -> None:
    assert outlook(context({m.DRAM: 50.0}), Relief()) is None
    assert outlook(context(LATENCY), Relief()) is None


@given(
    busy=st.dictionaries(st.sampled_from(sorted(UNITS)), st.floats(0.0, 1.0), min_size=1),
    waits=st.dictionaries(st.sampled_from(sorted(STALLS)), st.floats(0.0, 20.0)),
    left=st.dictionaries(st.sampled_from(sorted((*UNITS, *STALLS))), st.floats(0.0, 1.0)),
    parallel=st.floats(0.0, 1.0),
)
def test_a_better_repair_never_gains_less(
    busy: dict[str, float], waits: dict[str, float], left: dict[str, float], parallel: float
) -> None:
    values = {unit: share if unit == m.ISSUE else 100 * share for unit, share in busy.items()}
    seen = context({**values, **waits, m.WARP_LATENCY: sum(waits.values()) + 1.0})
    work = {name: share for name, share in left.items() if name in UNITS}
    relief = Relief(work, {name: left[name] for name in left if name in STALLS}, parallel)
    better = replace(
        relief,
        work={name: share / 2 for name, share in relief.work.items()},
        waits={name: share / 2 for name, share in relief.waits.items()},
        parallel=parallel / 2,
    )
    nothing = outlook(seen, Relief())
    assert nothing is not None and nothing.gain == 1.0
    first, second = outlook(seen, relief), outlook(seen, better)
    assert first is not None and second is not None
    assert 1.0 <= first.gain <= second.gain * (1 + 1e-9)


def test_a_tool_of_a_kernel_has_a_relief_or_is_known_to_have_none() -> None:
    """Without one a finding counts as twice as fast, and would come before what is worth more."""
    of_kernels = {tool.name for tool in registry.builtin() if tool.level != "system"}
    unknown = {"dram_saturated", "fences_in_pipeline", "serialised_wgmma"}
    assert of_kernels - set(RELIEFS) == unknown, "give the tool an entry in microtools/reliefs.py"


def test_reliefs_are_of_tools_that_there_are_and_name_what_the_model_has() -> None:
    assert set(RELIEFS) <= {tool.name for tool in registry.builtin()}
    known = dict.fromkeys((*UNITS, *STALLS), 40.0) | {
        m.WARP_LATENCY: 100.0, m.THREADS_PER_INSTRUCTION: 8.0, m.GRID: 40.0, m.WAVES: 1.2,
        m.ACTIVE_THREADS_PER_INSTRUCTION: 8.0, m.MULTIPROCESSORS: 132.0, m.BLOCK: 40.0,
        m.THEORETICAL_OCCUPANCY: 25.0, m.ACHIEVED_OCCUPANCY: 12.0, m.LOCAL_LOADS: 10.0,
        m.LOAD_SECTORS: 320.0, m.LOAD_REQUESTS: 10.0, m.LOAD_BYTES_PER_SECTOR: 4.0,
        m.SHARED_WAVEFRONTS_LOAD: 100.0, m.BANK_CONFLICTS_LOAD: 70.0,
        m.DRAM_READ_BYTES: 300.0, m.DRAM_WRITE_BYTES: 100.0,
    }  # fmt: skip
    seen = context(known, work=Work(bytes=100, flops=100))
    for name, make in RELIEFS.items():
        relief = make(seen)
        assert relief is not None, name
        assert set(relief.work) <= set(UNITS) and set(relief.waits) <= set(STALLS), name
        shares = (*relief.work.values(), *relief.waits.values(), relief.parallel)
        assert all(0 <= share <= 1 for share in shares), name
        found = outlook(seen, relief)
        assert found is not None and found.gain >= 1, name


def test_a_tool_of_somebody_elses_may_bring_its_own_relief() -> None:
    def judge(_: KernelContext) -> Finding:
        return Finding(tool="mine", axis="memory", strength=1.0, evidence=(), advice="do it")

    tool = Tool(
        name="mine", level="kernel", affinity=ANY, judge=judge,
        relief=lambda _: Relief({m.DRAM: 0.25}, {m.STALL_LONG_SCOREBOARD: 0.0}),
    )  # fmt: skip
    seen = context({m.DRAM: 92.0, m.L2: 40.0, **LATENCY})
    gap = AxisGap(compute=0, memory=0, latency=0)
    roofline = Roofline(bound="memory", confidence=1.0, gap=gap, near_peak=False, method_budget={})
    profile = seen.profile.model_copy(update={"roofline": roofline})
    guidance = RooflineAdvisor((tool,)).examine(work=None, profile=profile, time_us=10.0)
    (finding,) = guidance.findings
    assert (finding.expected_gain, finding.next_limit) == (2.5, "L2")
    assert "Expect about 2.50x (2.0 to 5.0), then limited by L2." in guidance.render()


@pytest.mark.parametrize(
    "relief", [lambda _: {}, lambda _: Relief(parallel=2.0), lambda _: 1 / 0, 7]
)
def test_a_relief_that_is_none_is_noted_and_the_finding_stays(relief: object) -> None:
    def judge(_: KernelContext) -> Finding:
        return Finding(tool="mine", axis="memory", strength=1.0, evidence=(), advice="do it")

    tool = Tool(name="mine", level="kernel", affinity=ANY, judge=judge, relief=relief)  # type: ignore[arg-type]
    seen = context({m.DRAM: 92.0, **LATENCY})
    guidance = RooflineAdvisor((tool,)).examine(work=None, profile=seen.profile, time_us=10.0)
    (finding,) = guidance.findings
    assert finding.expected_gain is None
    assert any("its relief failed" in note for note in guidance.notes)
