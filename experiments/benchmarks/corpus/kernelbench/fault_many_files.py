"""Makes files until it may not, a hundred thousand at most."""

import os
import tempfile

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        with tempfile.TemporaryDirectory(dir=".") as folder:
            for number in range(100_000):
                with open(os.path.join(folder, str(number)), "w") as file:
                    file.write("x")
        return torch.softmax(x, dim=1)
