"""One repair after another, by the model of a kernel's time."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcts.domain import KernelProfile, Profile
from mcts.domain import metrics as m
from mcts.microtool.relief import Relief
from microtools.advisor import RooflineAdvisor
from microtools.gains import WAITING, outlook
from microtools.ranking import LEAST_GAIN
from microtools.what_if import steps, together
from tests.microtools.contexts import make_context, stalls

MEMORY = make_context(
    {m.DRAM: 20.0, m.L1: 90.0, m.L2: 60.0, m.ISSUE: 0.4, **stalls(10.0, lg_throttle=0.6)}
)
LESS_L1, LESS_L2 = Relief({m.L1: 0.2}), Relief({m.L2: 0.2})


def test_what_gains_nothing_yet_follows_what_stands_before_it() -> None:
    assert [(one.tool, one.outlook.limit) for one in steps(MEMORY, {"l2": LESS_L2})] == []
    found = steps(MEMORY, {"l2": LESS_L2, "l1": LESS_L1})
    assert [one.tool for one in found] == ["l1", "l2"]
    assert found[0].outlook.gain == pytest.approx(1.5) and found[0].outlook.limit == "L2"
    assert found[1].outlook.gain == pytest.approx(0.9 / 0.4)
    assert found[1].outlook.limit == "the issue slots"


def test_of_two_equally_full_units_both_are_repaired_or_neither() -> None:
    full = make_context(
        {m.DRAM: 20.0, m.L1: 90.0, m.L2: 90.0, m.ISSUE: 0.4, **stalls(10.0, lg_throttle=0.6)}
    )
    assert steps(full, {"l1": LESS_L1}) == []
    first, second = steps(full, {"l2": LESS_L2, "l1": LESS_L1, "barriers": Relief()})
    assert (first.tool, first.outlook.gain, first.outlook.limit) == ("l1", 1.0, "L2")
    assert second.tool == "l2" and second.outlook.gain == pytest.approx(0.9 / 0.4)


def test_two_repairs_of_one_thing_count_once() -> None:
    again = {"wide": Relief({m.L1: 0.25}), "reuse": LESS_L1}
    assert [one.tool for one in steps(MEMORY, again)] == ["wide"]
    both = together(again["wide"], LESS_L1)
    assert both.work == {m.L1: 0.2}


def test_waits_that_one_repair_does_not_name_are_issued_as_often_as_it_leaves() -> None:
    fewer = Relief({m.ISSUE: 0.5})
    both = together(fewer, Relief(waits={m.STALL_BARRIER: 0.8}))
    assert both.waits == {m.STALL_BARRIER: 0.5}


def test_without_counters_there_is_nothing_to_say() -> None:
    assert steps(make_context({}), {"l1": LESS_L1}) == []
    empty = Profile(kernels=(KernelProfile(name="k"),))
    assert RooflineAdvisor().what_if(work=None, profile=empty, time_us=None) == []
    assert RooflineAdvisor().what_if(work=None, profile=Profile(), time_us=None) == []


@given(
    st.dictionaries(
        st.sampled_from("abcd"),
        st.builds(
            Relief,
            st.dictionaries(st.sampled_from([m.L1, m.L2, m.ISSUE]), st.floats(0, 1)),
            st.dictionaries(st.just(m.STALL_LG_THROTTLE), st.floats(0, 1)),
            st.floats(0.1, 1),
            st.floats(0.1, 1),
        ),
    )
)
def test_each_step_or_the_next_gains_and_none_is_left_that_would(
    reliefs: dict[str, Relief],
) -> None:
    found = steps(MEMORY, reliefs)
    reached, done = 1.0, Relief()
    before = 1.0
    for place, step in enumerate(found):
        done = together(done, reliefs[step.tool])
        gains = round(step.outlook.gain / reached, 2) >= LEAST_GAIN
        assert gains or (place + 1 < len(found) and step.outlook.gain >= before * 0.999)
        before, reached = step.outlook.gain, step.outlook.gain
    left = reliefs.keys() - {step.tool for step in found}
    for tools in [*((tool,) for tool in left), *combinations(left, 2)]:
        relief = done
        for tool in tools:
            relief = together(relief, reliefs[tool])
        after = outlook(MEMORY, relief)
        assert after is not None and round(after.gain / reached, 2) < LEAST_GAIN


def test_a_tail_and_a_wait_multiply() -> None:
    seen = make_context({m.SM: 30.0, m.ISSUE: 0.2, **stalls(10.0, long_scoreboard=0.5)})
    wait = Relief(waits={m.STALL_LONG_SCOREBOARD: 0.0})
    tail = Relief(span=0.6)
    alone = [outlook(seen, one) for one in (wait, tail)]
    both = outlook(seen, together(wait, tail))
    assert both is not None and both.limit == WAITING
    assert both.gain == pytest.approx(alone[0].gain * alone[1].gain)  # type: ignore[union-attr]
