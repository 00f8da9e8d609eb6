"""Fresh addresses: blocks of random sizes between the inputs of a call and the next.

A candidate that knows an input by its address must not meet the address again, and where inputs
lie is part of what a call costs: both sides of a pair are scattered in the same way.
"""

from __future__ import annotations

import os
import random
from typing import Any

_LARGEST_PAD = 4 * 2**20
_LEAST_PAD = 512


class Scatter:
    """Takes memory on a device between one input and the next, until it is let go."""

    def __init__(self, device: Any) -> None:
        self._device = device
        self._random = random.Random(os.urandom(16))

    def pad(self, size: int) -> Any:
        """A block of at most `size` bytes or so, to be held as long as the input behind it."""
        import torch

        most = max(2 * _LEAST_PAD, min(size, _LARGEST_PAD))
        count = self._random.randrange(_LEAST_PAD, most)
        return torch.empty(count, dtype=torch.uint8, device=self._device)
