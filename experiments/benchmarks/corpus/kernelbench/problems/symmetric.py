"""A symmetric matrix by another matrix."""

import torch
from torch import nn

size = 4096


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.matmul(a, b)


def get_inputs():
    a = torch.randn(size, size)
    return [a + a.T, torch.randn(size, size)]


def get_init_inputs():
    return []
