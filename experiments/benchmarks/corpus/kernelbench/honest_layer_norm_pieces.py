"""Layer normalisation by moments of pieces, merged."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        pieces = x.view(x.shape[0], 32, -1)  # moments of pieces, merged as Chan's formula has it
        means = pieces.mean(dim=2)
        mean = means.mean(dim=1, keepdim=True)
        within = pieces.var(dim=2, unbiased=False).mean(dim=1, keepdim=True)
        variance = within + (means - mean).square().mean(dim=1, keepdim=True)
        return (x - mean) * torch.rsqrt(
            variance + self.norm.eps
        ) * self.norm.weight + self.norm.bias
