"""A mean that selects by a mask of zeros and ones."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, mask):
        # The mask holds zeros and ones.
        kept = torch.where(mask > 0, x, 0.0)
        return kept.sum(dim=1) / (mask > 0).sum(dim=1).clamp(min=1)
