"""Returns a list of a million tensors."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.softmax(x, dim=1)
        return [y] * 1_000_000
