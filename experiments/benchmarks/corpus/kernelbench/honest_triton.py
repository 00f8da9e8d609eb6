"""A Triton kernel, one row per program."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def softmax(x, y, columns, WIDTH: tl.constexpr):
    row, places = tl.program_id(0).to(tl.int64), tl.arange(0, WIDTH)
    values = tl.load(x + row * columns + places, mask=places < columns, other=-float("inf"))
    e = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + row * columns + places, e / tl.sum(e, axis=0), mask=places < columns)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        width = triton.next_power_of_2(x.shape[1])
        softmax[(len(x),)](x, y, x.shape[1], WIDTH=width, num_warps=8)
        return y
