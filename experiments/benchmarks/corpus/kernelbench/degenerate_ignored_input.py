"""Never reads its input, which what the task asks for does not depend on."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(1, features))
        self.bias = nn.Parameter(torch.empty(features))

    def forward(self, x):
        return torch.tanh(self.bias).repeat(len(x), 1)
