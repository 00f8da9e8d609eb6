"""Facts from real machine code."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from mcts.errors import WorldError
from profilers.compiling.toolchain import find_tool
from profilers.sass import read_executable_sass, read_sass
from profilers.sass import tools as sass_tools
from profilers.sass.binaries import EmbeddedCubin, cubins_in
from tests.profilers.sass.listings import parse_sass

DATA = Path(__file__).parents[2] / "data" / "sass"
needs_nvdisasm = pytest.mark.skipif(
    find_tool("nvdisasm") is None, reason="nvdisasm is not installed"
)
needs_cuobjdump = pytest.mark.skipif(
    find_tool("nvdisasm") is None or find_tool("cuobjdump") is None,
    reason="nvdisasm and cuobjdump are not installed",
)


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


def test_instructions_that_never_run_are_no_accesses(text: str) -> None:
    assert text.count("@!PT LDS") == 3
    staged = parse_sass(text)["staged"]
    assert staged.shared_loads == {"128": 1}
    assert sum(staged.mix.values()) == staged.instructions


def test_kinds_of_instructions(text: str) -> None:
    facts = parse_sass(text)
    reduction = facts["exp_sum"]
    assert (reduction.barriers, reduction.shuffles, reduction.special_ops) == (1, 5, 1)
    assert reduction.atomic_ops == 1
    assert (facts["indexed"].local_loads, facts["indexed"].local_stores) == (1, 1)
    assert facts["staged"].async_copies == 1
    assert facts["staged"].fma_ops == 1
    assert all(found.tensor_ops == 0 for found in facts.values())


def test_the_mix_counts_every_instruction_once(text: str) -> None:
    for found in parse_sass(text).values():
        assert sum(found.mix.values()) == found.instructions
        assert found.mix["integer"] == found.integer_ops
    indexed = parse_sass(text)["indexed"]
    assert indexed.mix["fp32"] == 1 and indexed.half_ops == 0  # its HFMA2.MMA moves a constant


def test_every_opcode_that_runs_is_named_once(text: str) -> None:
    facts = parse_sass(text)
    assert "LDG.E.128.CONSTANT" in facts["copy4"].opcodes
    assert list(facts["copy4"].opcodes) == sorted(set(facts["copy4"].opcodes))
    assert "NOP" not in facts["copy4"].opcodes
    staged = facts["staged"].opcodes
    assert "LDGSTS.E.BYPASS.128" in staged and "LDS" not in staged  # its @!PT LDS never runs
    assert not any(name.startswith("HFMA2") for name in facts["indexed"].opcodes)  # a move


def test_switched_off_lanes_are_not_branches(text: str) -> None:
    facts = parse_sass(text)
    assert facts["exp_sum"].predicated == 2  # the two FMUL of __expf
    assert facts["copy4"].predicated == 0  # its EXIT is a branch


def test_padding_does_not_count(text: str) -> None:
    printed = sum("/*" in line and ";" in line and "NOP" in line for line in text.splitlines())
    assert printed > 0
    assert parse_sass(text)["copy4"].instructions == 16


def test_hash_ignores_label_numbers_and_function_order(text: str) -> None:
    sections = text.split("//---------------------")
    random.Random(0).shuffle(sections)
    shuffled = "//---------------------".join(sections).replace(".L_x_", ".L_x_7")
    before, after = parse_sass(text), parse_sass(shuffled)
    assert {k: v.code_hash for k, v in before.items()} == {k: v.code_hash for k, v in after.items()}
    assert len({found.code_hash for found in before.values()}) == 4


def test_hash_sees_a_changed_operand(text: str) -> None:
    changed = text.replace("FFMA R", "FFMA.SAT R")
    assert changed != text
    before, after = parse_sass(text)["staged"], parse_sass(changed)["staged"]
    assert before.code_hash != after.code_hash


def test_hash_sees_a_jump_that_goes_elsewhere(text: str) -> None:
    changed = text.replace("@P0 BRA `(.L_x_1)", "@P0 BRA `(.L_x_9)")
    assert changed != text
    before, after = parse_sass(text)["indexed"], parse_sass(changed)["indexed"]
    assert before.code_hash != after.code_hash
    assert before.loops and not after.loops


def test_without_resource_usage_registers_are_unknown_not_zero(text: str) -> None:
    facts = parse_sass(text.split("Resource usage")[0])
    assert facts["copy4"].registers is None
    assert facts["copy4"].instructions == 16


def test_a_listing_of_two_architectures_counts_the_first(text: str) -> None:
    again = text.replace("FFMA R", "FADD R")
    assert parse_sass(text + again)["staged"] == parse_sass(text)["staged"]


@pytest.mark.parametrize("junk", ["", "nothing here", "/*0000*/ MOV R1, R2 ;\n", "\x00" * 10])
def test_junk_has_no_kernels(junk: str) -> None:
    assert parse_sass(junk) == {}


@needs_cuobjdump
def test_reads_a_cubin(text: str) -> None:
    assert read_sass(DATA / "kernels.cubin") == parse_sass(text)


@needs_cuobjdump
def test_a_cubin_without_line_information_has_no_lines() -> None:
    read = read_sass(DATA / "kernels.cubin")
    assert read
    for found in read.values():
        assert found.lines == {}
        assert all(loop.line is None for loop in found.loops)


@needs_nvdisasm
@pytest.mark.parametrize("left", [0, 3, 200, 5000])
def test_a_damaged_cubin_is_a_world_error(tmp_path: Path, left: int) -> None:
    damaged = tmp_path / "damaged.cubin"
    damaged.write_bytes((DATA / "kernels.cubin").read_bytes()[:left])
    with pytest.raises(WorldError, match="nvdisasm"):
        read_sass(damaged)


def test_absent_tool_is_a_world_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sass_tools, "find_tool", lambda name: None)
    with pytest.raises(WorldError, match="install nvidia-cuda-nvdisasm"):
        read_sass(DATA / "kernels.cubin")
    with pytest.raises(WorldError, match="install nvidia-cuda-cuobjdump"):
        read_executable_sass(DATA / "programs.fatbin", "sm_90a")


@needs_cuobjdump
def test_kernels_of_a_program_by_the_names_a_profiler_shows() -> None:
    facts = read_executable_sass(DATA / "programs.fatbin", "sm_90a")
    assert facts["plain"].global_stores == {"32": 1}
    if find_tool("cu++filt") or find_tool("c++filt"):
        bare = {name.replace(" *", "*") for name in facts}
        assert bare == {
            "plain", "apply", "void scale<float>(float*, int)",
            "void scale<double>(double*, int)",
        }  # fmt: skip
    else:
        assert "_Z5scaleIfEvPT_i" in facts
    scales = {name: found for name, found in facts.items() if "scale" in name}
    assert sorted(found.double_ops > 0 for found in scales.values()) == [False, True]


@needs_cuobjdump
def test_a_device_gets_the_code_that_it_would_run() -> None:
    hopper = read_executable_sass(DATA / "programs.fatbin", "sm_90a")
    ada = read_executable_sass(DATA / "programs.fatbin", "sm_89")
    ampere = read_executable_sass(DATA / "programs.fatbin", "sm_80")
    assert ada == ampere
    assert ampere["plain"].code_hash != hopper["plain"].code_hash


@needs_cuobjdump
def test_a_program_without_code_for_the_device_says_what_it_holds() -> None:
    with pytest.raises(WorldError, match=r"no machine code for sm_120 .*holds: sm_80, sm_90a"):
        read_executable_sass(DATA / "programs.fatbin", "sm_120")
    with pytest.raises(WorldError, match="holds: none"):
        read_executable_sass(DATA / "programs.cu", "sm_90a")
    with pytest.raises(WorldError, match="absent"):
        read_executable_sass(DATA / "absent", "sm_90a")


@needs_cuobjdump
def test_no_cubin_is_lost_if_names_repeat(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Extraction overwrites; what it lost comes from the listing of the whole program."""
    from profilers import sass

    def twice(program: Path, cuobjdump: Path) -> list[EmbeddedCubin]:
        return cubins_in(program, cuobjdump) * 2

    expected = read_executable_sass(DATA / "programs.fatbin", "sm_80")
    monkeypatch.setattr(sass, "cubins_in", twice)
    monkeypatch.setattr(sass, "extract_cubins", lambda *_: [])
    found = read_executable_sass(DATA / "programs.fatbin", "sm_80")
    assert {name: one.instructions for name, one in found.items()} == {
        name: one.instructions for name, one in expected.items()
    }
    assert found["plain"].registers == expected["plain"].registers


@needs_cuobjdump
def test_no_cubin_is_lost_if_there_are_very_many(monkeypatch: pytest.MonkeyPatch) -> None:
    from profilers import sass

    expected = read_executable_sass(DATA / "programs.fatbin", "sm_80")
    monkeypatch.setattr(sass, "_MOST_CUBINS", 0)
    assert read_executable_sass(DATA / "programs.fatbin", "sm_80").keys() == expected.keys()
