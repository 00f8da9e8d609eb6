"""Threads build things while it is being loaded, and stay there, idle."""

from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn
from torch.nn import functional as F


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        self.bias = nn.Parameter(torch.empty(out_features))
        self.pool = ThreadPoolExecutor(4)
        self.tasks = [self.pool.submit(sum, range(10**6)) for _ in range(4)]

    def forward(self, x):
        for task in self.tasks:
            task.result()
        return F.gelu(F.linear(x, self.weight, self.bias))
