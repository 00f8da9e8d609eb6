"""A product of triangular matrices that leaves out the zeros."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        size = a.shape[0]
        out = torch.zeros_like(a)
        step = max(1, size // 8)
        for i in range(0, size, step):  # below the diagonal there are zeros
            out[i : i + step, i:] = a[i : i + step, i:] @ b[i:, i:]
        return torch.triu(out)
