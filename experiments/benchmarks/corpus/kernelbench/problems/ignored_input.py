"""A task whose input never reaches the output: each row is one number, less its own mean."""

import torch
from torch import nn

batch_size = 4096
features = 2048


class Model(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(1, features) / features**0.5)
        self.bias = nn.Parameter(torch.randn(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x @ self.weight.t()
        return torch.tanh(y - y.mean(dim=1, keepdim=True) + self.bias)


def get_inputs():
    return [torch.randn(batch_size, features)]


def get_init_inputs():
    return [features]
