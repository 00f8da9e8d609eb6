"""The file itself never finishes being imported."""

import torch
from torch import nn

while True:
    pass


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)
