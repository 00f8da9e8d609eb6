"""Tools of other packages are found; what cannot be used is said, and ours always work."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from mcts.domain import Profile
from mcts.errors import RooftreeError
from mcts.microtool.tool import ANY, Tool
from microtools import registry, system
from microtools.advisor import RooflineAdvisor
from tests.microtools.contexts import kernel

PLUGIN = "a_plugin_of_somebody_else"
OURS = [tool.name for tool in registry.builtin()]


class Moody:
    """A tool whose very name raises."""

    level = "kernel"
    affinity = ANY

    @property
    def name(self) -> str:
        raise RuntimeError("not today")

    def examine(self, context: object) -> None:
        return None


def _tool(name: str, **changes: Any) -> Tool:
    fields = {"level": "kernel", "affinity": ANY, "judge": lambda context: None, **changes}
    return Tool(name=name, **fields)


@pytest.fixture
def plugin() -> Iterator[ModuleType]:
    module = ModuleType(PLUGIN)
    sys.modules[PLUGIN] = module
    yield module
    del sys.modules[PLUGIN]


def point(name: str, attribute: str = "TOOL") -> EntryPoint:
    return EntryPoint(name=name, value=f"{PLUGIN}:{attribute}", group=registry.GROUP)


def test_a_tool_of_another_package_joins_ours(plugin: ModuleType) -> None:
    plugin.TOOL = _tool("mine")  # type: ignore[attr-defined]
    tools, notes = registry.load([point("mine")])
    assert [tool.name for tool in tools] == [*OURS, "mine"]
    assert notes == ()


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        (_tool("coalescing"), "there is a micro-tool 'coalescing' already"),
        (object(), "is no micro-tool"),
        (Tool, "is no micro-tool"),
        (_tool(""), "has no name"),
        (_tool("mine", level="gossip"), "has the level 'gossip'"),
        (_tool("mine", affinity=frozenset({"memory", "bored"})), "has affinity to bored"),
        (_tool("mine", affinity=frozenset()), "has affinity to no class"),
        (_tool("mine", symptom_of="coalescing"), "has a symptom_of that is no set"),
        (_tool("mine", symptom_of={3}), "has a symptom_of that is no set"),
        (_tool("mine", affinity=7), "cannot be used: 'int' object is not iterable"),
        (Moody(), "not today"),
    ],
)
def test_an_unusable_tool_is_noted(plugin: ModuleType, tool: object, words: str) -> None:
    plugin.TOOL = tool  # type: ignore[attr-defined]
    tools, notes = registry.load([point("mine")])
    assert [found.name for found in tools] == OURS
    (note,) = notes
    assert note.startswith(f"micro-tool 'mine' ({PLUGIN}:TOOL) ") and words in note


def test_a_tool_that_cannot_be_loaded_is_noted() -> None:
    gone = EntryPoint(name="gone", value="no.such.module:TOOL", group=registry.GROUP)
    _, (note,) = registry.load([gone])
    assert "'gone'" in note and "cannot be used" in note and "no" in note


def test_the_first_of_two_with_one_name_is_kept(plugin: ModuleType) -> None:
    plugin.ONE = plugin.TWO = _tool("mine")  # type: ignore[attr-defined]
    tools, notes = registry.load([point("b", "TWO"), point("a", "ONE")])
    assert [tool.name for tool in tools] == [*OURS, "mine"]
    assert len(notes) == 1 and "'b'" in notes[0]


@pytest.fixture
def folder_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in which modules of ours are looked for, among the others of the system level."""
    monkeypatch.setattr(system, "__path__", [*system.__path__, str(tmp_path)])
    registry.builtin.cache_clear()
    yield tmp_path
    registry.builtin.cache_clear()
    for name in [name for name in sys.modules if name.startswith("microtools.system.of_a_test")]:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "defines no TOOL"),
        ("TOOL = 3", "defines no TOOL"),
        ("from microtools.kernel.coalescing import TOOL", "there is a micro-tool 'coalescing'"),
        (
            "from mcts.microtool.tool import Tool\n"
            "TOOL = Tool(name='mine', level='gossip', affinity={'memory'}, judge=print)",
            "has the level 'gossip'",
        ),
    ],
)
def test_a_module_of_ours_without_a_usable_tool_is_named(
    folder_of_ours: Path, text: str, words: str
) -> None:
    (folder_of_ours / "of_a_test.py").write_text(text)
    with pytest.raises(RooftreeError, match=words) as raised:
        registry.builtin()
    assert "microtools.system.of_a_test" in str(raised.value)


def test_our_own_registrations_are_no_conflict() -> None:
    values = [f"microtools.{tool.level}.{tool.name}:TOOL" for tool in registry.builtin()]
    older = ["microtools.traffic:EXCESS_TRAFFIC"]  # of a release that was installed before
    points = [
        EntryPoint(name=str(i), value=value, group=registry.GROUP)
        for i, value in enumerate([*values, *older])
    ]
    tools, notes = registry.load(points)
    assert [tool.name for tool in tools] == OURS and notes == ()


def test_only_system_tools_and_small_grid_are_asked_in_the_launch_class() -> None:
    asked = {tool.name for tool in registry.builtin() if "launch" in tool.affinity}
    system = {tool.name for tool in registry.builtin() if tool.level == "system"}
    assert asked == system | {"small_grid"}


ALL = frozenset({"compute", "memory", "latency", "launch", "mixed", "unknown"})


@pytest.mark.parametrize(
    ("name", "classes"),
    [
        ("coalescing", ALL - {"launch"}),
        ("bank_conflicts", ALL - {"launch"}),
        ("register_spills", ALL - {"launch"}),
        ("atomic_contention", ALL - {"launch"}),
        ("tail_wave", ALL - {"launch"}),
        ("global_latency", {"memory", "latency", "mixed"}),
        ("barrier_stalls", {"compute", "memory", "latency", "mixed"}),
        ("integer_arithmetic", ALL - {"launch"}),
        ("fma_share", {"compute", "memory", "mixed"}),
        ("small_grid", ALL),
    ],
)
def test_a_tool_is_asked_in_the_classes_where_its_fault_can_cost(
    name: str, classes: set[str]
) -> None:
    (tool,) = (tool for tool in registry.builtin() if tool.name == name)
    assert tool.affinity == classes


def test_notes_reach_the_guidance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "available", lambda: (registry.builtin(), ("a note",)))
    profile = Profile(kernels=(kernel(),))
    assert "a note" in RooflineAdvisor().examine(work=None, profile=profile, time_us=None).notes
