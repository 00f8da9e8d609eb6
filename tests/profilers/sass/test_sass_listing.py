"""Reading listings, sound and unsound."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcts.errors import WorldError
from profilers.sass import listing as sass_text
from profilers.sass import parse_lines
from profilers.sass.listing import LONGEST_LINE, Instruction, read_functions
from tests.profilers.sass.listings import parse_sass

DATA = Path(__file__).parents[2] / "data" / "sass"
LISTINGS = [(DATA / name).read_text() for name in ("kernels.txt", "loops.txt", "wgmma.txt")]
LINES = [line + "\n" for text in LISTINGS for line in text.splitlines()]


def instructions(*lines: str) -> list[Instruction]:
    (function,) = read_functions([".text.k:\n", *lines])
    return function.instructions


def test_an_instruction_taken_apart() -> None:
    (found,) = instructions("        /*01a0*/              @!P0 FFMA.FTZ R1, -R2, 0.5, R3 ;\n")
    assert (found.address, found.guard, found.mnemonic) == (0x1A0, "@!P0", "FFMA.FTZ")
    assert found.operands == "R1, -R2, 0.5, R3"
    assert found.opcode == "FFMA"
    assert found.text == "@!P0 FFMA.FTZ R1, -R2, 0.5, R3"


def test_the_encoding_beside_it_is_skipped() -> None:
    found = instructions(
        "        /*0000*/   MOV R1, c[0x0][0x28] ;     /* 0x00000a00ff017624 */\n",
        "                                              /* 0x000fe200078e00ff */\n",
        "        /*0010*/   EXIT ;                     /* 0x000000000000794d */\n",
    )
    assert [one.text for one in found] == ["MOV R1, c[0x0][0x28]", "EXIT"]


def test_paired_instructions_in_braces() -> None:
    found = instructions("   { /*0008*/ IADD R1, R1, R2;\n", "     /*0010*/ LDS R3, [R1] }\n")
    assert [one.opcode for one in found] == ["IADD"]


def test_the_targets_of_a_computed_branch() -> None:
    (found,) = instructions(
        '  /*01c0*/  BRX R2 -0x1d0         (*"BRANCH_TARGETS .L_x_46,.L_x_47,.L_x_12"*);\n'
    )
    assert found.targets == (".L_x_46", ".L_x_47", ".L_x_12")
    assert found.text == "BRX R2 -0x1d0"


def test_a_place_holds_until_the_next() -> None:
    found = instructions(
        '//## File "/a.cu", line 3\n', "/*0000*/ MOV R1, R2 ;\n", ".L_x_1:\n",
        "/*0010*/ MOV R1, R2 ;\n", '//## File "/a.cu", line 4\n', "/*0020*/ EXIT ;\n",
    )  # fmt: skip
    assert [one.places for one in found] == [
        (("/a.cu", 3),), (("/a.cu", 3),), (("/a.cu", 4),),
    ]  # fmt: skip


def test_inlined_calls_are_a_chain_of_places() -> None:
    (found,) = instructions(
        '//## File "/lib.hpp", line 400 inlined at "/a.cuh", line 7\n',
        '//## File "/a.cuh", line 7 inlined at "/a.cu", line 30\n',
        '//## File "/a.cu", line 30\n',
        "/*0000*/ MUFU.EX2 R1, R1 ;\n",
    )
    assert found.places == (("/lib.hpp", 400), ("/a.cuh", 7), ("/a.cu", 30))


def test_the_users_line_is_the_one_that_calls_the_library() -> None:
    text = (
        ".text.k:\n"
        '//## File "/home/me/a.cu", line 20\n/*0000*/ MOV R1, R2 ;\n'
        '//## File "/cuda/include/math.hpp", line 400 inlined at "/home/me/a.cu", line 30\n'
        '//## File "/home/me/a.cu", line 30\n'
        "/*0010*/ MUFU.EX2 R1, R1 ;\n"
        '//## File "/home/me/a.cu", line 12 inlined at "/home/me/a.cu", line 31\n'
        '//## File "/home/me/a.cu", line 31\n'
        "/*0020*/ DADD R2, R2, R4 ;\n"
        '//## File "/cuda/include/math.hpp", line 9\n'
        "/*0030*/ BAR.SYNC 0x0 ;\n"
        "/*0040*/ EXIT ;\n"
    )
    assert parse_sass(text)["k"].lines == {"special_ops": (30,), "double_ops": (12,)}


def test_lines_are_those_with_most_of_it() -> None:
    text = [".text.k:\n"]
    for line in range(1, 21):
        text += [f'//## File "/a.cu", line {line}\n']
        text += [f"/*{1000 + line:04x}*/ SHFL.BFLY PT, R1, R1, 0x10, 0x1f ;\n"] * (
            2 if line % 2 else 1
        )
    (places,) = parse_lines(text)["k"].lines.values()
    assert places == (1, 2, 3, 4, 5, 7, 9, 11, 13, 15, 17, 19)


def test_functions_that_no_host_launches_are_no_kernels() -> None:
    text = (
        ".type f,@function\n.text.f:\n/*0000*/ RET.REL R2 ;\n"
        ".type k,@function\n.text.k:\n"
        '.other k,@"STO_CUDA_ENTRY STV_DEFAULT"\n/*0000*/ EXIT ;\n'
    )
    assert set(parse_sass(text)) == {"k"}


def test_a_kernel_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sass_text, "_MOST_INSTRUCTIONS", 10)
    with pytest.raises(WorldError, match="too long"):
        instructions(*["/*0000*/ MOV R1, R2 ;\n"] * 11)


def reads(lines: list[str]) -> None:
    """Reading says what it found or that it cannot, whatever it is given."""
    try:
        facts = parse_lines(lines)
    except WorldError:
        return
    for found in facts.values():
        assert sum(found.mix.values()) == found.instructions > 0
        assert all(loop.instructions <= found.instructions for loop in found.loops)


@given(text=st.text())
def test_any_text(text: str) -> None:
    reads(text.splitlines(keepends=True))
    reads([".text.k:\n", *text.splitlines(keepends=True)])


@given(cut=st.integers(0, sum(map(len, LISTINGS))))
@settings(max_examples=30)
def test_a_listing_cut_short(cut: int) -> None:
    reads("".join(LISTINGS)[:cut].splitlines(keepends=True))


@given(lines=st.lists(st.sampled_from(LINES), max_size=400))
@settings(max_examples=60)
def test_a_listing_out_of_order(lines: list[str]) -> None:
    reads([".text.k:\n", *lines])


code = st.text(alphabet='RUPZ0123456789xabc,.[]+-@!`()*$_L; \t{}:/|~"FIADLBX3', max_size=60)


@given(code=st.lists(code, max_size=20))
def test_nonsense_where_code_should_be(code: list[str]) -> None:
    opcodes = ("IADD3", "BRA", "LDG.E", "ISETP.NE.AND", "IMAD", "BSSY", "SHF.L.U32", "HFMA2.MMA")
    reads(
        [
            ".text.k:\n",
            *(
                f"/*{at * 16:04x}*/ {opcodes[at % len(opcodes)]} {text} ;\n"
                for at, text in enumerate(code)
            ),
            "/*0ff0*/ @P0 BRA 0x0 ;\n",
        ]
    )


@given(
    numbers=st.lists(
        st.sampled_from(["0x0", "-0x1", "0xffffffff", "R1", "R2", "UR3", "RZ", "c[0x0][0x28]"]),
        min_size=12, max_size=12,
    )
)  # fmt: skip
def test_any_arithmetic_in_a_loop(numbers: list[str]) -> None:
    a, b, c, d, e, f, g, h, i, j, k, m = numbers
    reads(
        [
            ".text.k:\n",
            f"/*0000*/ IADD3 R1, {a}, {b}, {c} ;\n",
            f"/*0010*/ IMAD R2, {d}, {e}, {f} ;\n",
            f"/*0020*/ LEA R1, {g}, {h}, {i} ;\n",
            f"/*0030*/ SHF.R.U32.HI R1, {j}, {k}, {m} ;\n",
            "/*0040*/ LDG.E R5, desc[UR4][R1.64+-0x10] ;\n",
            "/*0050*/ FADD R6, R6, R5 ;\n",
            "/*0060*/ ISETP.NE.AND P0, PT, R1, R2, PT ;\n",
            "/*0070*/ @P0 BRA 0x0 ;\n",
        ]
    )


@pytest.mark.parametrize(
    "line",
    [
        "/*0000*/ BRA " + "(*" * LONGEST_LINE + "\n",
        "/*0000*/ BRA " + "`(.L_" * LONGEST_LINE + ";\n",
        "/*0000*/ BRA " + "0x" * LONGEST_LINE + ";\n",
        "/*" * LONGEST_LINE,
        "/*" + "0" * LONGEST_LINE + "*/ EXIT ;\n",
        "/*0000*/ " + " " * LONGEST_LINE + "EXIT\n",
        "/*0000*/ " + "@P0 " * LONGEST_LINE + ";\n",
        '//## File "' * LONGEST_LINE,
        '//## File "a", line ' + "9" * LONGEST_LINE + "\n",
        "REG:" + "9" * LONGEST_LINE + "\n",
        "." * LONGEST_LINE + ":\n",
        ".text." * LONGEST_LINE,
        "Function " * LONGEST_LINE,
        ".L_x_" * LONGEST_LINE + ":\n",
        "\t.other " * LONGEST_LINE,
    ],
    ids=lambda line: line[:20],
)
def test_a_line_without_end_takes_no_longer_than_its_length(line: str) -> None:
    reads([".text.k:\n", *[line] * 20, "/*0010*/ EXIT ;\n"])
