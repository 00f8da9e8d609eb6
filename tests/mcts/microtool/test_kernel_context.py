"""What a case tells of the code: whether tiles are staged, and which loops take the time."""

from __future__ import annotations

from typing import Any

import pytest

from mcts.domain import SassFacts
from tests.microtools.contexts import MATMUL, STREAM, loop, make_context
from tests.microtools.triggers_memory import SCRATCH, TILED

TILE_LOOP = (loop(global_loads=2, barriers=2),)
FEW_STORES = {"global_loads": {"128": 8}, "shared_stores": {"128": 2}, "barriers": 1}


@pytest.mark.parametrize(
    ("sass", "staged"),
    [
        (TILED, True),
        (SCRATCH, False),
        (FEW_STORES, False),
        ({**FEW_STORES, "loops": TILE_LOOP}, True),
        ({**FEW_STORES, "loops": (loop(global_loads=2, barriers=1),)}, False),
        ({**FEW_STORES, "loops": (loop(global_loads=0, barriers=2),)}, False),
        ({**FEW_STORES, "loops": TILE_LOOP, "shared_stores": {}}, False),
        ({**FEW_STORES, "loops": TILE_LOOP, "async_copies": 1}, False),
        ({**FEW_STORES, "loops": TILE_LOOP, "bulk_copies": 1}, False),
    ],
    ids=["by count", "scratch", "few stores", "by its loop", "one barrier", "loads elsewhere",
         "no store", "asynchronous", "bulk"],
)  # fmt: skip
def test_tiles_are_staged_by_count_or_by_a_loop(sass: dict[str, Any], staged: bool) -> None:
    assert make_context(sass=sass, work=MATMUL).stages_tiles is staged
    assert make_context(sass=sass, work=None).stages_tiles is staged
    assert not make_context(sass=sass, work=STREAM).stages_tiles, "nothing is used again"


def test_without_code_no_tiles_or_loops_are_known() -> None:
    assert not make_context().stages_tiles
    assert make_context().hot_loops == () == make_context().hot_lines


def test_a_loop_weighs_four_times_more_for_each_around_it() -> None:
    inner = loop(depth=2, line=7, mix={"fp32": 20})
    for outside, lines in ((39, (7,)), (40, (5, 7)), (160, (5, 7)), (161, (5,))):
        outer = loop(depth=1, line=5, instructions=200, mix={"fp32": outside})
        assert make_context(sass={"loops": (outer, inner)}).hot_lines == lines


def test_a_tile_loop_is_not_hidden_by_the_copies_inside_it() -> None:
    tile = loop(depth=1, line=9, instructions=900, mix={"fp32": 800, "memory": 60})
    copy = loop(depth=2, line=4, instructions=12, mix={"memory": 4, "integer": 8})
    context = make_context(sass={"loops": (tile, copy)})
    assert context.hot_lines == (9,)
    assert context.sass is not None and context.sass.hot_mix == {"fp32": 800, "memory": 60}


def test_the_loop_that_issues_asynchronous_products_is_hot_however_short_it_is() -> None:
    tiles = loop(depth=1, line=9, instructions=1200, mix={"integer": 1000, "tensor": 12})
    depths = loop(depth=2, line=4, instructions=60, mix={"tensor": 8, "control": 50})
    search = loop(depth=2, line=2, instructions=98, mix={"integer": 98})
    loops = (tiles, depths, search)
    assert make_context(sass={"loops": loops, "wgmma_ops": 20}).hot_lines == (4,)
    assert make_context(sass={"loops": loops}).hot_lines == (9,), "nothing is asynchronous"
    unrolled = {"loops": (search,), "wgmma_ops": 20}
    assert make_context(sass=unrolled).hot_lines == (2,), "the products stand outside of loops"


def test_a_loop_without_a_mix_weighs_its_instructions() -> None:
    loops = (loop(line=1, instructions=10), loop(line=2, instructions=100))
    assert make_context(sass={"loops": loops}).hot_lines == (2,)
    assert SassFacts(instructions=5, mix={"fp32": 5}).hot_mix == {"fp32": 5}
