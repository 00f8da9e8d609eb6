"""Wraps its forward in a function that could also go backward."""

import torch
from torch import nn
from torch.nn import functional as F


class LinearGelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight, bias)
        return F.gelu(F.linear(x, weight, bias))

    @staticmethod
    def backward(ctx, grad):
        with torch.enable_grad():
            parts = [part.detach().requires_grad_() for part in ctx.saved_tensors]
            y = F.gelu(F.linear(*parts))
        return torch.autograd.grad(y, parts, grad)


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        self.bias = nn.Parameter(torch.empty(out_features))

    def forward(self, x):
        return LinearGelu.apply(x, self.weight, self.bias)
