"""The product of two upper triangular matrices."""

import torch
from torch import nn

size = 4096


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.triu(torch.matmul(a, b))


def get_inputs():
    return [torch.triu(torch.rand(size, size)), torch.triu(torch.rand(size, size))]


def get_init_inputs():
    return []
