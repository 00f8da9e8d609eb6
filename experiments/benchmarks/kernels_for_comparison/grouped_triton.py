"""A mixture of experts' matrix product in Triton, as good as we could write it for Hopper.

Tiles are read by TMA through two tensor maps for all experts: rows of X that belong to the next
expert are computed and not stored. Each program finds its tile's expert by a scan over the ends,
so that the host need not know them. `programs` is either the number of multiprocessors (a
persistent grid) or the largest number of tiles there can be.
"""

import triton
import triton.language as tl
from triton.errors import TritonError
from triton.tools.tensor_descriptor import TensorDescriptor

# (rows, columns, depth of a tile), warps, stages
TILES = (
    ((128, 256, 64), 8, 3),
    ((128, 256, 64), 8, 4),
    ((256, 128, 64), 8, 4),
    ((128, 128, 64), 8, 4),
    ((128, 128, 64), 4, 4),
    ((128, 128, 128), 8, 3),
    ((64, 256, 64), 8, 4),
    ((64, 256, 64), 4, 4),
    ((64, 128, 64), 4, 5),
    ((64, 128, 128), 4, 3),
)
BANDS = (4, 8)
FAILURES = (TritonError, RuntimeError)
"""What a configuration that does not fit this GPU raises."""


@triton.jit(do_not_specialize=["experts", "band"])
def grouped_kernel(
    x_map, w_map, y, ends, experts, n, k, band,
    EXPERTS: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
    FLATTEN: tl.constexpr,
):  # fmt: skip
    lane = tl.arange(0, EXPERTS)
    inside = lane < experts
    end = tl.load(ends + lane, mask=inside, other=0)
    begin = tl.load(ends + lane - 1, mask=inside & (lane > 0), other=0)
    count = tl.where(inside, end - begin, 0)
    across = tl.cdiv(n, COLUMNS)
    tiles = tl.cdiv(count, ROWS) * across
    behind = tl.cumsum(tiles, 0)
    total = tl.sum(tiles, 0)
    for tile in tl.range(tl.program_id(0), total, tl.num_programs(0), flatten=FLATTEN):
        expert = tl.sum((behind <= tile).to(tl.int32), 0)
        here = lane == expert
        first = tl.sum(tl.where(here, begin, 0), 0)
        last = tl.sum(tl.where(here, end, 0), 0)
        local = tile - tl.sum(tl.where(here, behind - tiles, 0), 0)
        down = tl.cdiv(last - first, ROWS)
        group = local // (band * across)
        high = tl.minimum(down - group * band, band)
        within = local % (band * across)
        row = first + (group * band + within % high) * ROWS
        column = (within // high) * COLUMNS
        sums = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
        for depth in tl.range(0, k, DEPTH):
            a = x_map.load([row, depth])
            b = w_map.load([expert * n + column, depth])
            sums = tl.dot(a, b.T, sums)
        at_row = row + tl.arange(0, ROWS)
        at_column = column + tl.arange(0, COLUMNS)
        place = y + at_row[:, None].to(tl.int64) * n + at_column[None, :]
        tl.store(place, sums.to(tl.bfloat16), mask=(at_row < last)[:, None] & (at_column < n)[None])


class Grouped:
    """Y = X W^T per expert. x: (rows, K); w: (experts, N, K); ends: (experts,) int32; all bf16
    but `ends`, contiguous, on the GPU. flatten: one loop over tiles and depth, so that a tile's
    first loads can start before the last one is stored; for persistent grids.
    """

    def __init__(self, tile, warps, stages, *, flatten):
        self.tile, self.warps, self.stages, self.flatten = tile, warps, stages, flatten

    def __call__(self, x, w, y, ends, *, band, programs):
        rows, columns, depth = self.tile
        experts, n, k = w.shape
        grouped_kernel[(programs,)](
            TensorDescriptor.from_tensor(x, [rows, depth]),
            TensorDescriptor.from_tensor(w.view(experts * n, k), [columns, depth]),
            y, ends, experts, n, k, band,
            EXPERTS=max(128, triton.next_power_of_2(experts)), ROWS=rows, COLUMNS=columns, DEPTH=depth,
            FLATTEN=self.flatten, num_warps=self.warps, num_stages=self.stages,
        )  # fmt: skip

    def most_tiles(self, x, w):
        """Tiles there are at most, whatever the ends: each expert may have one that is not full."""
        rows, columns, _ = self.tile
        return (x.shape[0] // rows + w.shape[0]) * triton.cdiv(w.shape[1], columns)
