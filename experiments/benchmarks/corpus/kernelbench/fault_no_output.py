"""Returns nothing."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        torch.softmax(x, dim=1)
