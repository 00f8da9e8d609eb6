"""Tools that a model chose: those alone, in every roofline class, and silence is told."""

from __future__ import annotations

import pytest

from mcts.domain import (
    BoundClass,
    Evidence,
    Finding,
    Profile,
    Work,
)
from mcts.domain import metrics as m
from mcts.microtool.tool import ANY, Tool
from microtools import registry
from microtools.advisor import RooflineAdvisor
from microtools.reliefs import RELIEFS
from microtools.toolbox import ChosenTools
from tests.microtools.contexts import H200, kernel, roofline
from tests.microtools.test_advisor import TASK
from tests.microtools.test_tools import TRIGGERS
from tests.support.evaluations import measured

BUSY = kernel({m.DRAM: 92.0, m.SM: 20.0, m.MEMORY: 92.0})
"""Device memory is the limit."""


def look(*names: str, bound: BoundClass = "memory") -> tuple[list[str], str]:
    """Who speaks, and the notes."""
    profile = Profile(hardware=H200, kernels=(BUSY,), roofline=roofline(bound))
    found = ChosenTools().run(names, TASK, measured(100.0), profile)
    return [finding.tool for finding in found.findings], " ".join(found.notes)


def test_only_the_chosen_tools_speak_and_silence_is_told() -> None:
    speaking, notes = look("dram_saturated", "bank_conflicts", "no_such_tool")
    assert speaking == ["dram_saturated"]
    assert "nothing found by bank_conflicts" in notes and "no_such_tool" not in notes


@pytest.mark.parametrize("bound", ["memory", "launch"])
def test_the_roofline_class_does_not_keep_a_chosen_tool_from_looking(bound: BoundClass) -> None:
    (tool,) = [tool for tool in registry.builtin() if tool.name == "dram_saturated"]
    assert "launch" not in tool.affinity
    assert look("dram_saturated", bound=bound)[0] == ["dram_saturated"]


class Broken:
    """A tool that fails."""

    name, level, affinity = "broken", "kernel", frozenset({"memory"})

    def examine(self, context: object) -> None:
        raise RuntimeError("no")


def test_a_tool_that_has_not_looked_is_not_said_to_have_found_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tools = (*registry.builtin(), Broken())
    monkeypatch.setattr(registry, "available", lambda: (tools, ()))
    assert "nothing found" not in look("broken")[1]
    nothing = Profile(hardware=H200, roofline=roofline("memory"))
    found = ChosenTools().run(["dram_saturated"], TASK, measured(100.0), nothing)
    assert not any("nothing found" in note for note in found.notes)
    missing = Profile(
        hardware=H200, kernels=(BUSY,), roofline=roofline("memory"), missing={"ncu": "not allowed"}
    )
    found = ChosenTools().run(["bank_conflicts"], TASK, measured(100.0), missing)
    assert "nothing found by bank_conflicts, by what was measured" in found.notes


def test_what_only_follows_from_another_finding_was_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    consequence = Tool(
        name="after", level="kernel", affinity=ANY, symptom_of=frozenset({"dram_saturated"}),
        judge=lambda _: Finding(
            tool="after", strength=0.3, axis="memory", advice="wait less",
            evidence=(Evidence(metric="x", value=1, threshold=0),),
        ),
    )  # fmt: skip
    monkeypatch.setattr(registry, "available", lambda: ((*registry.builtin(), consequence), ()))
    assert "nothing found" not in look("dram_saturated", "after")[1]


@pytest.mark.parametrize("name", sorted(set(TRIGGERS) & set(RELIEFS)))
def test_a_chosen_tool_tells_the_same_gain_as_one_that_runs_by_rule(name: str) -> None:
    context = TRIGGERS[name].firing(1.0)
    (tool,) = [tool for tool in registry.builtin() if tool.name == name]
    profile = context.profile.model_copy(update={"roofline": roofline(min(tool.affinity))})
    work = Work.of(TASK) or profile.work
    by_rule = RooflineAdvisor([tool]).examine(work=work, profile=profile, time_us=100.0)
    chosen = ChosenTools().run([name], TASK, measured(100.0), profile)
    assert [one.expected_gain for one in chosen.findings] == [
        one.expected_gain for one in by_rule.findings
    ]


def test_every_tool_says_in_a_sentence_what_it_looks_for() -> None:
    tools = ChosenTools().tools
    assert set(tools) >= {tool.name for tool in registry.builtin()}
    assert all(15 < len(what) < 120 and what.endswith(".") for what in tools.values())
    assert len(set(tools.values())) == len(tools)
