"""Which warpgroup matrix instructions run one after the other, from real and from made-up code."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcts.domain import SassFacts
from tests.profilers.sass.listings import listing, parse_sass

DATA = Path(__file__).parents[2] / "data" / "sass"
SOURCE = (DATA / "wgmma.cu").read_text().splitlines()
ARRIVE = "WARPGROUP.ARRIVE"
STEP = "HGMMA.64x128x16.F32.BF16 R24, gdesc[UR8], R24"
LAST = f"{STEP}, gsb0"
CLOSES = "HGMMA.64x8x16.F16 RZ, gdesc[URZ], RZ, !UPT, gsb0"
ALL, ALL_BUT_ONE = "WARPGROUP.DEPBAR.LE gsb0, 0x0", "WARPGROUP.DEPBAR.LE gsb0, 0x1"
AGAIN = ("@!P0 BRA `(.L_x_0)", "EXIT")


@pytest.fixture(scope="module")
def compiled() -> dict[str, SassFacts]:
    return parse_sass((DATA / "wgmma.txt").read_text())


def counted(*code: str) -> tuple[int, int]:
    """How many there are in `code`, and how many are serial."""
    facts = parse_sass(listing(*code))["k"]
    return facts.wgmma_ops, facts.serial_wgmma_ops


def looped(*code: str) -> tuple[int, int]:
    return counted(".L_x_0:", *code, *AGAIN)


@pytest.mark.parametrize(
    ("kernel", "all_of_them", "serial"),
    [
        ("pipelined", 4, 0),
        ("unpipelined", 4, 1),
        ("touched", 4, 2),
        ("branched", 4, 4),
        ("called", 2, 2),
        ("one_a_trip", 1, 1),
    ],
)
def test_real_code_has_the_counts_that_its_source_shows(
    compiled: dict[str, SassFacts], kernel: str, all_of_them: int, serial: int
) -> None:
    facts = compiled[kernel]
    assert (facts.wgmma_ops, facts.serial_wgmma_ops) == (all_of_them, serial)


def test_the_lines_of_serial_instructions_are_told(compiled: dict[str, SassFacts]) -> None:
    assert "serial_wgmma_ops" not in compiled["pipelined"].lines
    lines = compiled["called"].lines["serial_wgmma_ops"]
    assert [SOURCE[line - 1].strip() for line in lines] == [
        "MULTIPLY(d, a, b);",
        "MULTIPLY(d, a + 2, b + 2);",
    ]


def test_an_instruction_that_only_closes_a_group_does_not_count(
    compiled: dict[str, SassFacts],
) -> None:
    assert compiled["branched"].tensor_ops == compiled["branched"].wgmma_ops + 2
    assert looped(LAST, CLOSES, ALL) == (1, 1)


def test_no_other_matrix_instruction_counts() -> None:
    warp_wide = ("HMMA.16816.F32 R4, R8, R10, R4", "QMMA.16832.F32 R4, R8, R10, R4")
    assert counted(*warp_wide, "EXIT") == (0, 0)
    assert counted("UTCHMMA gdesc[UR4], gdesc[UR6], tmem[UR8]", "EXIT") == (0, 0)


@pytest.mark.parametrize("opcode", ["HGMMA", "HGMMA.SP", "QGMMA", "IGMMA", "BGMMA", "QGMMA.SP"])
def test_all_types_and_sparse_forms_count(opcode: str) -> None:
    one = f"{opcode}.64x8x32 R24, gdesc[UR8], R24, gsb0"
    assert looped(ARRIVE, one, ALL, ARRIVE, one, ALL) == (2, 2)


def test_waiting_for_all_but_one_leaves_one_in_flight() -> None:
    assert looped(LAST, ALL_BUT_ONE, LAST, ALL_BUT_ONE) == (2, 0)
    assert looped(STEP, STEP, STEP, LAST, ALL_BUT_ONE) == (4, 0)


def test_only_the_last_of_a_group_that_is_waited_for_is_serial() -> None:
    assert looped(STEP, STEP, STEP, LAST, ALL) == (4, 1)
    assert looped(LAST, ALL, LAST, ALL) == (2, 2)


def test_the_last_wait_serializes_nothing() -> None:
    assert counted(STEP, LAST, ALL, "EXIT") == (2, 0)
    assert counted(LAST, ALL, LAST, ALL, "EXIT") == (2, 1)
    assert counted(LAST, ALL, "EXIT") == (1, 0)


def test_the_wait_may_stand_in_another_block() -> None:
    assert looped(ALL, ARRIVE, LAST) == (1, 1)
    assert looped(ALL_BUT_ONE, ARRIVE, LAST) == (1, 0)
    assert looped(LAST, "@P1 BRA `(.L_x_1)", "FADD R1, R2, R3", ".L_x_1:", ALL) == (1, 1)


def test_one_path_without_a_wait_is_enough_to_overlap() -> None:
    assert looped(LAST, "@P1 BRA `(.L_x_1)", ALL, ".L_x_1:", "FADD R1, R2, R3") == (1, 0)
    assert looped(LAST, f"@P1 {ALL}") == (1, 0)
    assert looped(LAST, f"@!UPT {ALL}") == (1, 0)
    assert looped(LAST, f"@PT {ALL}") == (1, 1)


def test_code_after_a_return_is_assumed_to_have_another_group() -> None:
    assert counted(LAST, ALL, "RET.REL.NODEC R2 `(k)") == (1, 1)
    assert counted(LAST, "RET.REL.NODEC R2 `(k)") == (1, 0)
    assert counted(LAST, ALL_BUT_ONE, "RET.REL.NODEC R2 `(k)") == (1, 0)


def test_a_scoreboard_wait_is_no_wait_for_a_group() -> None:
    assert looped(LAST, "DEPBAR.LE SB0, 0x0") == (1, 0)


def test_code_without_wgmma_has_neither_count(compiled: dict[str, SassFacts]) -> None:
    parsed = parse_sass((DATA / "kernels.txt").read_text())
    assert parsed
    for found in parsed.values():
        assert (found.wgmma_ops, found.serial_wgmma_ops) == (0, 0)
        assert (
            not {"wgmma_ops", "serial_wgmma_ops"} & found.model_dump(exclude_defaults=True).keys()
        )


def test_fences_wider_than_a_block_are_counted_where_they_stand() -> None:
    step = ("MEMBAR.ALL.CTA", "MEMBAR.ALL.GPU", "SYNCS.ARRIVE.TRANS64.RED.A1T0 RZ, [R3+URZ], RZ")
    facts = parse_sass(listing("MEMBAR.SC.SYS", ".L_x_0:", STEP, *step, *AGAIN))["k"]
    assert facts.wide_fences == 2
    assert [loop.wide_fences for loop in facts.loops] == [1]
