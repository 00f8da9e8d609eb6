"""The guide's example works as printed, and its tables have every tool."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from docs.tools import hooks
from mcts.domain import KernelProfile, Metric, Profile
from mcts.domain import metrics as m
from mcts.microtool.tool import KernelContext, MicroTool
from microtools import registry
from microtools.advisor import RooflineAdvisor
from tests.microtools.contexts import STREAM, make_context, without
from tests.microtools.well_tuned import HEALTHY

PLAYBOOK = (Path(__file__).parents[2] / "codegen" / "playbook.toml").read_text()
GUIDE = Path(__file__).parents[2] / "docs" / "microtools.md"
TEXT = GUIDE.read_text()
MODULE = "my_tools.cold_l2"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


@pytest.fixture
def example() -> Iterator[dict[str, Any]]:
    """The first block as the module that the guide says to put it into."""
    module, package = ModuleType(MODULE), ModuleType("my_tools")
    exec(compile(blocks("python")[0], str(GUIDE), "exec"), module.__dict__)
    sys.modules.update({MODULE: module, "my_tools": package})
    yield module.__dict__
    del sys.modules[MODULE], sys.modules["my_tools"]


def test_the_example_keeps_its_promise_of_so_many_lines() -> None:
    promised = re.search(r"## Write your own in (\d+) lines", TEXT)
    assert promised is not None
    lines = [line for line in blocks("python")[0].splitlines() if line.strip()]
    assert len(lines) <= int(promised[1])
    assert max(map(len, lines)) <= 100


def test_the_example_speaks_on_a_profile(example: dict[str, Any]) -> None:
    tool = example["TOOL"]
    assert isinstance(tool, MicroTool)
    counters = {m.L2_HIT: 20.0, m.DRAM: 92.0, m.DRAM_READ_BYTES: 2.5 * STREAM.bytes}
    metrics = {name: Metric(value=value) for name, value in counters.items()}
    profile = Profile(kernels=(KernelProfile(name="k", metrics=metrics),))
    advisor = RooflineAdvisor([*registry.builtin(), tool])
    guidance = advisor.examine(work=STREAM, profile=profile, time_us=None)
    assert "cold_l2" in [finding.tool for finding in guidance.findings]
    assert "let blocks that run together share tiles" in guidance.render()
    assert not [note for note in guidance.notes if "cold_l2" in note]


@pytest.mark.parametrize("name", HEALTHY)
def test_the_example_finds_no_fault_with_a_healthy_kernel(
    name: str, example: dict[str, Any]
) -> None:
    well = HEALTHY[name]
    context = make_context(well.metrics, sass=well.sass, work=well.work, bound=well.bound)
    assert example["TOOL"].examine(context) is None


def test_the_example_keeps_the_rules_for_tools_of_our_own(example: dict[str, Any]) -> None:
    tool = example["TOOL"]
    assert not registry._problem(tool, taken=())
    assert tool.symptom_of <= {one.name for one in registry.builtin()}
    counters = {m.L2_HIT: 10.0, m.DRAM: 95.0, m.DRAM_READ_BYTES: 2.5 * STREAM.bytes}
    finding = tool.examine(make_context(counters, work=STREAM))
    assert finding.evidence and len(finding.advice) > 80 and finding.advice.endswith(".")
    assert set(finding.methods) <= set(re.findall(r'^id = "(.*)"', PLAYBOOK, re.MULTILINE))
    for metric in counters:
        assert tool.examine(without(make_context(counters, work=STREAM), metric)) is None
    assert tool.examine(make_context(counters, work=None)) is None


def test_the_guides_tests_pass(example: dict[str, Any]) -> None:
    namespace: dict[str, Any] = {}
    exec(compile(blocks("python")[1], str(GUIDE), "exec"), namespace)
    tests = [value for name, value in namespace.items() if name.startswith("test_")]
    assert len(tests) == 3
    for test in tests:
        test()


def test_the_registration_names_our_group_and_the_example(example: dict[str, Any]) -> None:
    table = tomllib.loads(blocks("toml")[0])["project"]["entry-points"]
    assert table == {registry.GROUP: {"cold_l2": f"{MODULE}:TOOL"}}


def test_a_context_has_every_field_that_the_guide_lists() -> None:
    rows = re.search(r"\| of the context \|.*?\n\n", TEXT, re.DOTALL)
    assert rows is not None
    names = re.findall(r"`(\w+)", "\n".join(re.findall(r"^\| (.*?) \|", rows[0], re.MULTILINE)))
    assert len(names) > 15
    fields = set(dir(KernelContext)) | set(KernelContext.__dataclass_fields__)
    assert set(names) <= fields


def test_every_tool_has_a_row() -> None:
    tables = hooks.on_page_markdown(TEXT).partition("## The tools there are")[2]
    rows = re.findall(r"^\| `(\w+)` \|", tables, re.MULTILINE)
    assert sorted(rows) == sorted(tool.name for tool in registry.builtin())
