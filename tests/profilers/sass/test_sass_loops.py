"""Loops in the machine code: found, nested, and what is in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcts.domain import SassFacts, SassLoop
from tests.profilers.sass.listings import listing, parse_sass

DATA = Path(__file__).parents[2] / "data" / "sass"


@pytest.fixture(scope="module")
def facts() -> dict[str, SassFacts]:
    return parse_sass((DATA / "loops.txt").read_text())


def loops(*lines: str) -> tuple[SassLoop, ...]:
    return parse_sass(listing(*lines))["k"].loops


def test_a_remainder_loop_and_its_main_loop(facts: dict[str, SassFacts]) -> None:
    rest, main = facts["dot"].loops
    assert (rest.depth, main.depth) == (1, 1)
    assert (rest.unrolled, main.unrolled) == (1, 4)
    assert (rest.global_loads, main.global_loads) == (2, 8)
    assert (rest.mix["fp32"], main.mix["fp32"]) == (1, 4)
    assert (rest.line, main.line) == (12, 13)


def test_inner_loops_count_for_the_loop_around_but_not_in_its_mix(
    facts: dict[str, SassFacts],
) -> None:
    outer, inner = facts["tiled"].loops
    assert (outer.depth, inner.depth) == (1, 2)
    assert outer.instructions == sum(outer.mix.values()) + inner.instructions
    assert sum(inner.mix.values()) == inner.instructions
    assert (outer.barriers, inner.barriers) == (2, 0)
    assert outer.shared_loads == inner.shared_loads == 10
    assert (outer.global_loads, inner.global_loads) == (2, 0)
    assert (outer.unrolled, inner.unrolled) == (1, 8)
    assert inner.line == 29


def test_the_hot_mix_is_the_innermost_loop(facts: dict[str, SassFacts]) -> None:
    assert facts["tiled"].hot_mix == facts["tiled"].loops[1].mix


def test_all_cases_of_a_switch_are_in_the_loop(facts: dict[str, SassFacts]) -> None:
    """They are reached through a computed branch; the disassembler names its targets."""
    (loop,) = facts["chosen"].loops
    assert loop.mix["special"] == facts["chosen"].special_ops == 3


def test_waiting_for_a_barrier_is_no_loop_of_its_own(facts: dict[str, SassFacts]) -> None:
    assert (DATA / "loops.txt").read_text().count("TRYWAIT") == 1
    (loop,) = facts["waiting"].loops
    assert loop.depth == 1
    assert loop.global_loads == 1


def test_what_ptxas_writes_around_a_bulk_copy_is_no_loop_of_its_own() -> None:
    issue = (
        ".L_x_1:", "@P0 ELECT P1, URZ, PT", "UTMALDG.2D [UR8], [UR4]",
        "@P1 PLOP3.LUT P0, PT, P1, PT, PT, 0x8, 0x0", "PLOP3.LUT P1, PT, PT, PT, PT, 0x8, 0x0",
        "@P0 BRA.U.ANY `(.L_x_1)",
    )  # fmt: skip
    assert loops(*issue, "EXIT") == ()
    (loop,) = loops(".L_x_2:", "FADD R0, R0, R1", *issue, "@P2 BRA `(.L_x_2)", "EXIT")
    assert (loop.depth, loop.instructions) == (1, 7)


def test_a_loop_of_a_warp_that_votes_is_one() -> None:
    (loop,) = loops(
        ".L_x_1:", "FADD R0, R0, R1", "ELECT P1, URZ, PT", "@P0 BRA.U.ANY `(.L_x_1)", "EXIT"
    )
    assert loop.mix["fp32"] == 1


def test_a_kernel_without_loops() -> None:
    assert loops("IADD3 R0, R0, 0x1, RZ", "EXIT", ".L_x_1:", "BRA `(.L_x_1)") == ()


def test_several_ways_back_are_one_loop() -> None:
    (loop,) = loops(
        ".L_x_1:", "FADD R0, R0, R1", "@P0 BRA `(.L_x_1)", "FMUL R0, R0, R2", "@P1 BRA `(.L_x_1)",
        "EXIT",
    )  # fmt: skip
    assert loop.instructions == 4


def test_code_that_leaves_the_loop_is_not_in_it() -> None:
    (loop,) = loops(
        ".L_x_1:", "FADD R0, R0, R1", "@P1 BRA `(.L_x_2)", "@P0 BRA `(.L_x_1)", "EXIT", ".L_x_2:",
        "MUFU.RCP R0, R0", "EXIT",
    )  # fmt: skip
    assert loop.instructions == 3 and "special" not in loop.mix


def test_a_slow_path_behind_the_loop_that_comes_back_is_in_it() -> None:
    (loop,) = loops(
        ".L_x_1:", "FADD R0, R0, R1", "@P1 BRA `(.L_x_2)", ".L_x_3:", "@P0 BRA `(.L_x_1)", "EXIT",
        ".L_x_2:", "MUFU.RCP R0, R0", "BRA `(.L_x_3)",
    )  # fmt: skip
    assert loop.instructions == 5 and loop.mix["special"] == 1


def test_a_far_jump_written_as_a_call_closes_a_loop() -> None:
    (loop,) = loops(
        ".L_x_1:", "FADD R0, R0, R1", "@!P0 CALL.REL.NOINC `(.L_x_2)", "BRA `(.L_x_1)", ".L_x_2:",
        "EXIT",
    )  # fmt: skip
    assert loop.instructions == 3


def test_a_subroutine_is_not_part_of_the_loop_that_calls_it() -> None:
    found = loops(
        ".L_x_1:", "FADD R0, R0, R1", "CALL.REL.NOINC `($k$slow)", "@P0 BRA `(.L_x_1)", "EXIT",
        "$k$slow:", ".L_x_2:", "MUFU.RCP R0, R0", "@P1 BRA `(.L_x_2)", "RET.REL.NODEC R2",
    )  # fmt: skip
    assert [loop.instructions for loop in found] == [3, 2]
    assert [loop.depth for loop in found] == [1, 1]


def test_targets_may_be_addresses() -> None:
    (loop,) = loops("MOV R0, RZ", "FADD R0, R0, R1", "@P0 BRA 0x10", "EXIT")
    assert loop.instructions == 2


def test_threads_meet_where_the_pair_of_bssy_says() -> None:
    (loop,) = loops(
        ".L_x_1:", "BSSY B0, `(.L_x_2)", "@P1 BRA `(.L_x_3)", "FADD R0, R0, R1", ".L_x_3:",
        "BSYNC B0", "EXIT", ".L_x_2:", "@P0 BRA `(.L_x_1)", "EXIT",
    )  # fmt: skip
    assert loop.instructions == 5


Tree = list[Any]
trees = st.recursive(
    st.just("op"),
    lambda inner: st.tuples(st.sampled_from(["loop", "if"]), st.lists(inner, max_size=4)),
    max_leaves=30,
)


def emit(items: Tree, labels: list[int], depth: int, expected: list[tuple[int, int]]) -> list[str]:
    """Machine code of nested loops and branches; `expected` gets (depth, own instructions)."""
    lines: list[str] = []
    for item in items:
        if item == "op":
            lines.append("FADD R0, R0, R1")
            if depth:
                count_own(expected, 1)
            continue
        kind, body = item
        labels[0] += 1
        label = f".L_x_{labels[0]}"
        if kind == "if":
            if depth:
                count_own(expected, 1)
            lines += [f"@P1 BRA `({label})", *emit(body, labels, depth, expected), f"{label}:"]
        else:
            around = list(open_loops)
            open_loops.append(len(expected))
            expected.append((depth + 1, 2))
            lines += [f"{label}:", "FMUL R2, R2, R2", *emit(body, labels, depth + 1, expected)]
            lines.append(f"@P0 BRA `({label})")
            open_loops[:] = around
    return lines


open_loops: list[int] = []


def count_own(expected: list[tuple[int, int]], instructions: int) -> None:
    depth, own = expected[open_loops[-1]]
    expected[open_loops[-1]] = (depth, own + instructions)


@given(items=st.lists(trees, max_size=5))
def test_structured_code_is_read_back_as_it_was_nested(items: Tree) -> None:
    open_loops.clear()
    expected: list[tuple[int, int]] = []
    lines = emit(items, [0], 0, expected)
    found = loops(*lines, "EXIT")
    assert [(loop.depth, sum(loop.mix.values())) for loop in found] == expected


jumps = st.lists(
    st.tuples(
        st.sampled_from(["@P0 BRA", "BRA", "BSYNC", "CALL", "EXIT", "FADD"]), st.integers(0, 40)
    ),
    max_size=40,
)


@given(code=jumps)
def test_any_tangle_of_jumps_has_loops_that_fit_into_the_kernel(
    code: list[tuple[str, int]],
) -> None:
    lines = [
        "BSYNC B0" if opcode == "BSYNC" else f"{opcode} {hex(target * 16)}"
        for opcode, target in code
    ]
    found = parse_sass(listing("FADD R0, R0, R1", *lines, "EXIT"))["k"]
    for loop in found.loops:
        assert sum(loop.mix.values()) <= loop.instructions <= found.instructions
    own = sum(sum(loop.mix.values()) for loop in found.loops)
    assert own <= found.instructions
    depths = [loop.depth for loop in found.loops]
    assert not depths or set(depths) == set(range(1, max(depths) + 1))


def test_the_deepest_of_very_many_loops_are_kept() -> None:
    lines: list[str] = []
    for number in range(200):
        lines += [f".L_x_{number}:", "FADD R0, R0, R1", f"@P0 BRA `(.L_x_{number})"]
    lines += [".L_x_a:", "FMUL R0, R0, R1", ".L_x_b:", "FMUL R0, R0, R1"]
    lines += ["@P0 BRA `(.L_x_b)", "@P0 BRA `(.L_x_a)", "EXIT"]
    found = loops(*lines)
    assert len(found) == 128
    assert max(loop.depth for loop in found) == 2
