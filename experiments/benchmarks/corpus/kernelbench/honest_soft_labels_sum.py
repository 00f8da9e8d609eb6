"""Cross entropy that relies on labels that sum to one."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, logits, labels):
        # The rows of labels sum to one.
        return torch.logsumexp(logits, dim=1) - (labels * logits).sum(dim=1)
