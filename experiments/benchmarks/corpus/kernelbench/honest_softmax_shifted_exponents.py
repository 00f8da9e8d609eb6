"""Softmax with powers of two, shifted behind the product."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        scaled = x * 1.4426950408889634  # as attention kernels do: the shift behind the product
        e = torch.exp2(scaled - scaled.amax(dim=1, keepdim=True))
        return e / e.sum(dim=1, keepdim=True)
