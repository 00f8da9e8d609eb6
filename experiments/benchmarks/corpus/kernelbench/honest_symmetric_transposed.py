"""A product with the transpose of a symmetric matrix."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a.T, b)  # its transpose is itself
