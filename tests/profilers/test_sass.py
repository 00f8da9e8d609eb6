"""Facts from real machine code."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcts.errors import WorldError
from profilers import sass
from profilers.sass import parse_sass, read_sass
from profilers.toolchain import find_tool

DATA = Path(__file__).parents[1] / "data" / "sass"


@pytest.fixture(scope="module")
def text() -> str:
    return (DATA / "kernels.txt").read_text()


def test_every_kernel_with_its_resources(text: str) -> None:
    facts = parse_sass(text)
    assert set(facts) == {"copy4", "exp_sum", "indexed", "staged"}
    assert facts["copy4"].registers == 14
    assert facts["copy4"].shared_bytes == 0
    assert facts["indexed"].stack_bytes == 256


def test_access_widths(text: str) -> None:
    facts = parse_sass(text)
    assert facts["copy4"].global_loads == {"128": 1}
    assert facts["copy4"].global_stores == {"128": 1}
    assert facts["exp_sum"].global_loads == {"32": 1}
    assert facts["staged"].shared_loads == {"128": 1, "32": 3}


def test_kinds_of_instructions(text: str) -> None:
    facts = parse_sass(text)
    reduction = facts["exp_sum"]
    assert (reduction.barriers, reduction.shuffles, reduction.special_ops) == (1, 5, 1)
    assert reduction.atomic_ops == 1
    assert (facts["indexed"].local_loads, facts["indexed"].local_stores) == (1, 1)
    assert facts["staged"].async_copies == 1
    assert facts["staged"].fma_ops == 1
    assert all(found.tensor_ops == 0 for found in facts.values())


def test_padding_does_not_count(text: str) -> None:
    printed = sum("/*" in line and ";" in line and "NOP" in line for line in text.splitlines())
    assert printed > 0
    assert parse_sass(text)["copy4"].instructions == 16


def test_hash_ignores_label_numbers_and_function_order(text: str) -> None:
    renumbered = text.replace(".L_x_", ".L_x_7")
    before, after = parse_sass(text), parse_sass(renumbered)
    assert {k: v.code_hash for k, v in before.items()} == {k: v.code_hash for k, v in after.items()}
    assert len({found.code_hash for found in before.values()}) == 4


def test_hash_sees_a_changed_operand(text: str) -> None:
    changed = text.replace("FFMA R", "FFMA.SAT R")
    assert changed != text
    before, after = parse_sass(text)["staged"], parse_sass(changed)["staged"]
    assert before.code_hash != after.code_hash


def test_without_resource_usage_registers_are_unknown_not_zero(text: str) -> None:
    facts = parse_sass(text.split("Resource usage")[0])
    assert facts["copy4"].registers is None
    assert facts["copy4"].instructions == 16


@pytest.mark.parametrize("junk", ["", "nothing here", "/*0000*/ MOV R1, R2 ;\n", "\x00" * 10])
def test_junk_has_no_kernels(junk: str) -> None:
    assert parse_sass(junk) == {}


@pytest.mark.skipif(find_tool("nvdisasm") is None, reason="nvdisasm is not installed")
def test_reads_a_cubin(text: str) -> None:
    facts = read_sass(DATA / "kernels.cubin")
    expected = parse_sass(text)
    assert {k: v.instructions for k, v in facts.items()} == {
        k: v.instructions for k, v in expected.items()
    }


@pytest.mark.skipif(find_tool("nvdisasm") is None, reason="nvdisasm is not installed")
def test_a_damaged_cubin_is_a_world_error(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.cubin"
    damaged.write_bytes((DATA / "kernels.cubin").read_bytes()[:200])
    with pytest.raises(WorldError, match="nvdisasm"):
        read_sass(damaged)


def test_absent_tool_is_a_world_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sass, "find_tool", lambda name: None)
    with pytest.raises(WorldError, match="nvdisasm"):
        read_sass(DATA / "kernels.cubin")
