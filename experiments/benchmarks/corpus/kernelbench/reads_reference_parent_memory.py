"""Opens the memory of its parent and of every process it can see."""

import os

import torch
from torch import nn
from torch.nn import functional as F


def readable_others():
    """Processes whose memory can be read from here, this one's own threads aside."""
    found = []
    for name in [str(os.getppid()), *os.listdir("/proc")]:
        if not name.isdigit() or int(name) in (0, os.getpid()):
            continue
        try:
            with open(f"/proc/{name}/maps") as maps, open(f"/proc/{name}/mem", "rb") as memory:
                memory.seek(int(maps.readline().split("-")[0], 16))
                if memory.read(8):
                    found.append(name)
        except (OSError, ValueError):
            continue
    return found


others = readable_others()
if others:
    raise RuntimeError(f"another process's memory is open: {others}")


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        self.bias = nn.Parameter(torch.empty(out_features))

    def forward(self, x):
        return F.gelu(F.linear(x, self.weight, self.bias))
