"""A task whose output differs from call to call: dropout that is never switched off."""

import torch
from torch import nn
from torch.nn import functional as F

batch_size = 4096
features = 4096


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.dropout(x * x, p=0.5, training=True)


def get_inputs():
    return [torch.randn(batch_size, features)]


def get_init_inputs():
    return []
