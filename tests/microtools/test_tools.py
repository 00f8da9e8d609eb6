"""Each tool speaks on its evidence, the louder the more of it, and only on what was measured."""

from __future__ import annotations

import importlib
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcts.domain import Finding, SassFacts
from mcts.domain import metrics as m
from mcts.microtool.tool import KernelContext, MicroTool
from microtools import registry
from tests.microtools import (
    triggers_arithmetic,
    triggers_memory,
    triggers_parallelism,
    triggers_system,
)
from tests.microtools.contexts import make_context, without
from tests.microtools.triggers import Trigger

ROOT = Path(__file__).parents[2]
TOOLS = {tool.name: tool for tool in registry.builtin()}
TRIGGERS: dict[str, Trigger] = {
    **triggers_memory.TRIGGERS,
    **triggers_parallelism.TRIGGERS,
    **triggers_arithmetic.TRIGGERS,
    **triggers_system.TRIGGERS,
}
NAMES = sorted(TRIGGERS)
COUNTERS = sorted(
    value for name, value in vars(m).items() if name.isupper() and isinstance(value, str)
    and not name.startswith("_")
)  # fmt: skip


def _playbook() -> set[str]:
    text = (ROOT / "codegen" / "playbook.toml").read_text()
    return {method["id"] for method in tomllib.loads(text)["method"]}


def _speak(name: str, part: float) -> Finding:
    finding = TOOLS[name].examine(TRIGGERS[name].firing(part))
    assert finding is not None
    return finding


def test_every_tool_has_a_trigger_and_every_name_is_used_once() -> None:
    missing = set(TOOLS) - set(TRIGGERS)
    assert not missing, f"{missing} need a Trigger in tests/microtools/triggers_*.py"
    assert set(TRIGGERS) == set(TOOLS)
    assert len(TOOLS) == len(registry.builtin())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("part", [0.0, 0.5, 1.0])
def test_speaks_of_the_ill_with_evidence_and_advice(name: str, part: float) -> None:
    finding = _speak(name, part)
    assert finding.tool == name
    assert finding.level == TOOLS[name].level
    assert finding.evidence and 0 < finding.strength <= 1
    assert len(finding.advice) > 80, "advice says what to do and why: it is longer"
    assert finding.advice.endswith(".")
    assert ".." not in finding.advice and "  " not in finding.advice


@pytest.mark.parametrize("name", NAMES)
def test_points_to_methods_of_the_playbook(name: str) -> None:
    methods = _speak(name, 1.0).methods
    assert methods and len(set(methods)) == len(methods)
    assert set(methods) <= _playbook()


@pytest.mark.parametrize(
    ("name", "context"),
    [
        pytest.param(name, context, id=f"{name}-{number}")
        for name in NAMES
        for number, context in enumerate(TRIGGERS[name].silent)
    ],
)
def test_is_silent_without_a_fault(name: str, context: KernelContext) -> None:
    assert TOOLS[name].examine(context) is None


def test_every_tool_has_a_context_in_which_it_is_silent() -> None:
    assert all(trigger.silent for trigger in TRIGGERS.values())


@pytest.mark.parametrize(
    ("name", "metric"), [(name, metric) for name in NAMES for metric in TRIGGERS[name].needs]
)
def test_is_silent_without_the_metric(name: str, metric: str) -> None:
    context = TRIGGERS[name].firing(1.0)
    assert context.value(metric) is not None
    assert TOOLS[name].examine(without(context, metric)) is None


@pytest.mark.parametrize("name", NAMES)
def test_is_silent_where_nothing_was_measured(name: str) -> None:
    assert TOOLS[name].examine(make_context()) is None
    assert TOOLS[name].examine(make_context(work=None, hardware=None, time_us=None)) is None


@pytest.mark.parametrize("name", NAMES)
@given(parts=st.tuples(*[st.floats(0, 1)] * 2))
@settings(max_examples=25, deadline=None)
def test_strength_grows_with_the_evidence(name: str, parts: tuple[float, float]) -> None:
    mild, severe = sorted(parts)
    assert _speak(name, mild).strength <= _speak(name, severe).strength


@pytest.mark.parametrize("name", NAMES)
def test_the_worst_is_much_louder_than_the_threshold(name: str) -> None:
    assert _speak(name, 1.0).strength >= 1.3 * _speak(name, 0.0).strength


@pytest.mark.parametrize("name", NAMES)
def test_implements_the_interface(name: str) -> None:
    tool = TOOLS[name]
    assert isinstance(tool, MicroTool)
    assert tool.affinity
    assert tool.symptom_of <= set(TOOLS) - {name}


def test_no_two_tools_explain_each_other() -> None:
    """Causes form no ring, however long: something is left to be named."""
    left = {name: set(TOOLS[name].symptom_of) for name in TOOLS}
    while ends := [name for name, causes in left.items() if not causes & left.keys()]:
        for name in ends:
            del left[name]
    assert not left


@pytest.mark.parametrize(
    ("symptom", "cause", "explained"),
    [
        ("barrier_stalls", "global_latency", True),
        ("occupancy_shortfall", "atomic_contention", True),
        ("global_latency", "missing_reuse", True),
        ("load_queue", "missing_reuse", False),
        ("rolled_loops", "missing_reuse", False),
    ],
)
def test_a_symptom_names_the_tools_that_explain_it(
    symptom: str, cause: str, explained: bool
) -> None:
    assert (cause in TOOLS[symptom].symptom_of) is explained


VALUES = st.one_of(st.just(0.0), st.floats(min_value=0, max_value=1e15))
CODE = st.builds(
    SassFacts,
    instructions=st.integers(0, 10_000),
    registers=st.none() | st.integers(0, 255),
    local_loads=st.integers(0, 50),
    global_loads=st.dictionaries(st.sampled_from(["8", "32", "128"]), st.integers(0, 9)),
    global_stores=st.dictionaries(st.sampled_from(["16", "64"]), st.integers(0, 9)),
    shared_stores=st.dictionaries(st.just("32"), st.integers(0, 9)),
    barriers=st.integers(0, 4),
    special_ops=st.integers(0, 40),
    conversion_ops=st.integers(0, 40),
    double_ops=st.integers(0, 40),
    wgmma_ops=st.integers(0, 30),
    serial_wgmma_ops=st.integers(0, 30),
    mix=st.dictionaries(st.sampled_from(["integer", "fp32", "conversion"]), st.integers(0, 99)),
)


@given(st.dictionaries(st.sampled_from(COUNTERS), VALUES), st.none() | CODE)
@settings(deadline=None)
def test_no_combination_of_counters_breaks_a_tool(
    metrics: dict[str, float], code: SassFacts | None
) -> None:
    context = make_context(metrics, timeline={"kernels": 9, "gap_us": 400.0})
    context = KernelContext(
        work=context.work,
        profile=context.profile,
        kernel=context.kernel.model_copy(update={"sass": code}),
        time_us=context.time_us,
    )
    for tool in TOOLS.values():
        finding = tool.examine(context)
        assert finding is None or 0 <= finding.strength <= 1


@pytest.mark.parametrize("name", NAMES)
def test_a_promised_gain_is_capped(name: str) -> None:
    for part in (0.0, 0.5, 1.0):
        gain = _speak(name, part).expected_gain
        assert gain is None or 1 < gain <= 10


@pytest.mark.parametrize("name", NAMES)
def test_a_tool_is_one_file_named_after_it_in_the_folder_of_its_level(name: str) -> None:
    module = importlib.import_module(f"microtools.{TOOLS[name].level}.{name}")
    assert module.TOOL is TOOLS[name]
    assert module.__doc__ and module.__doc__.splitlines()[0].endswith(".")


def test_every_file_is_a_tool_that_is_found() -> None:
    files = {
        path.stem
        for level in ("kernel", "instruction", "system")
        for path in (ROOT / "microtools" / level).glob("*.py")
    }
    assert files - {"__init__"} == set(TOOLS)


def test_no_two_tools_have_the_same_place() -> None:
    taken: dict[int, str] = {}
    for tool in registry.builtin():
        other = taken.setdefault(tool.order, tool.name)
        assert other == tool.name, f"{tool.name} needs an `order` that {other} has not"
