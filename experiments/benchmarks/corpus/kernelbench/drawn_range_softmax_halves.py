"""Softmax of inputs that were kept as two halves."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        high = x.half()
        low = (x - high.float()).half()  # both together hold 22 bits
        return torch.softmax(high.float() + low.float(), dim=1)
