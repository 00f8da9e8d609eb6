"""Returns a list that holds itself."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = [torch.softmax(x, dim=1)]
        y.append(y)
        return y
