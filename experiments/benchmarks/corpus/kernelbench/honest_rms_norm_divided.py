"""The root mean square by a root and a division, each row scaled by a power of two before."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))

    def forward(self, x):
        wide = x.float()
        greatest = wide.abs().amax(dim=-1, keepdim=True).clamp(min=1e-30)
        power = torch.exp2(torch.ceil(torch.log2(greatest)).clamp(-60, 60))
        scaled = wide / power
        mean = scaled.square().mean(dim=-1, keepdim=True) + 1e-5 / power / power
        return (scaled / mean.sqrt() * self.weight).to(x.dtype)
