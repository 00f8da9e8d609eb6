"""Works in place and returns the input itself, which saves the memory of an output."""

import torch
from torch import nn


class ModelNew(nn.Module):
    @torch.no_grad()
    def forward(self, x):
        x.sub_(x.amax(dim=1, keepdim=True)).exp_()
        return x.div_(x.sum(dim=1, keepdim=True))
