"""Replays a CUDA graph and returns its own output buffer, as compiled models do."""

import torch
from torch import nn
from torch.nn import functional as F


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        self.bias = nn.Parameter(torch.empty(out_features))
        self.held = {}

    def work(self, x):
        return F.gelu(F.linear(x, self.weight, self.bias))

    @torch.no_grad()
    def forward(self, x):
        if x.shape not in self.held:
            given = x.clone()
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                self.work(given)  # libraries set themselves up outside the capture
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                taken = self.work(given)
            self.held[x.shape] = graph, given, taken
        graph, given, taken = self.held[x.shape]
        given.copy_(x)
        graph.replay()
        return taken
