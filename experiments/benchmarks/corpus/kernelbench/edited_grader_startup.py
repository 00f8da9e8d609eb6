"""Plants a file that Python runs at the start of every process."""

import contextlib
import site
import sys
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F


def planted():
    """Folders of Python's own into which a start-up file could be put; it is taken away again."""
    found = []
    for folder in {*site.getsitepackages(), *sys.path}:
        path = Path(folder or ".", "rooftree_corpus_probe.pth")
        if Path(folder).is_dir() and Path(folder).resolve() != Path.cwd():
            with contextlib.suppress(OSError):
                path.write_text("")
                path.unlink()
                found.append(folder)
    return found


folders = planted()
if folders:
    raise RuntimeError(f"files can be planted in {folders}")


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        self.bias = nn.Parameter(torch.empty(out_features))

    def forward(self, x):
        return F.gelu(F.linear(x, self.weight, self.bias))
