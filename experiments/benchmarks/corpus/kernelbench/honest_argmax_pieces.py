"""The first greatest value, by pieces."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        pieces = x.view(x.shape[0], -1, 64)
        best, inside = pieces.max(dim=2)
        piece = best.argmax(dim=1, keepdim=True)
        return (piece * 64 + inside.gather(1, piece))[:, 0]
