"""TF32 as tensor cores take it from float32: the last 13 bits are cut off, not rounded."""

import torch
from torch import nn
from torch.nn import functional as F


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        self.bias = nn.Parameter(torch.empty(out_features))

    def forward(self, x):
        torch.backends.cuda.matmul.allow_tf32 = True
        return F.gelu(F.linear(truncated(x), truncated(self.weight), self.bias))


def truncated(x):
    return (x.view(torch.int32) & ~0x1FFF).view(torch.float32)
