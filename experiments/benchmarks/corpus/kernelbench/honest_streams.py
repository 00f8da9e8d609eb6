"""Two halves on two streams of its own, joined by events before it returns."""

import torch
from torch import nn
from torch.nn import functional as F


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        self.bias = nn.Parameter(torch.empty(out_features))
        self.sides = []

    @torch.no_grad()
    def forward(self, x):
        main = torch.cuda.current_stream()
        if not self.sides:
            self.sides = [torch.cuda.Stream(), torch.cuda.Stream()]
        y = torch.empty(len(x), len(self.bias), device=x.device, dtype=x.dtype)
        for side, rows, place in zip(self.sides, x.tensor_split(2), y.tensor_split(2), strict=True):
            side.wait_stream(main)
            with torch.cuda.stream(side):
                place.copy_(F.gelu(F.linear(rows, self.weight, self.bias)))
        for side in self.sides:
            main.wait_event(side.record_event())
            x.record_stream(side)
            y.record_stream(side)
        return y
