"""A task that always gives zeros: the mean is taken over one element and then subtracted."""

import torch
from torch import nn

batch_size = 4096
features = 2048


class Model(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.linear = nn.Linear(features, features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        top = torch.amax(self.linear(x), dim=1, keepdim=True)
        return torch.relu(top - top.mean(dim=1, keepdim=True))


def get_inputs():
    return [torch.randn(batch_size, features)]


def get_init_inputs():
    return [features]
