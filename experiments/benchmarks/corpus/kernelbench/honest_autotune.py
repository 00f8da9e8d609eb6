"""Times two ways of doing its work by events and by the host's clock, and keeps the faster."""

import time

import torch
from torch import nn
from torch.nn import functional as F


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        self.bias = nn.Parameter(torch.empty(out_features))
        self.choice = {}
        self.ways = [self.as_linear, self.as_sum]

    def as_linear(self, x):
        return F.gelu(F.linear(x, self.weight, self.bias))

    def as_sum(self, x):
        return F.gelu(torch.mm(x, self.weight.t()).add_(self.bias))

    def cost_us(self, way, x):
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        way(x)
        begin = time.perf_counter()
        first.record()
        for _ in range(5):
            way(x)
        last.record()
        torch.cuda.synchronize()
        host_us = (time.perf_counter() - begin) * 1e6
        return min(host_us, first.elapsed_time(last) * 1e3)

    @torch.no_grad()
    def forward(self, x):
        if x.shape not in self.choice:
            self.choice[x.shape] = min(self.ways, key=lambda way: self.cost_us(way, x))
        return self.choice[x.shape](x)
