"""The logarithm of a sum of exponentials, shifted by the maximum."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        greatest = x.amax(dim=1, keepdim=True)
        return torch.exp(x - greatest).sum(dim=1).log() + greatest[:, 0]
