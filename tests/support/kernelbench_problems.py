"""Problem files small enough to be read at a glance, each with one property that matters."""

from __future__ import annotations

from pathlib import Path

HEAD = """import torch
import torch.nn as nn


"""


def write(
    folder: Path, model: str, *, inputs: str, init: str = "[]", name: str = "problem"
) -> Path:
    """A problem whose class body is `model` and whose functions return `inputs` and `init`."""
    path = folder / f"{name}.py"
    body = "\n".join(f"    {line}" for line in model.strip("\n").splitlines())
    path.write_text(
        f"{HEAD}class Model(nn.Module):\n{body}\n\n\n"
        f"def get_inputs():\n    return {inputs}\n\n\n"
        f"def get_init_inputs():\n    return {init}\n"
    )
    return path


LINEAR = """
def __init__(self, size):
    super().__init__()
    self.linear = nn.Linear(size, size)
    nn.init.zeros_(self.linear.bias)

def forward(self, x):
    return torch.relu(self.linear(x))
"""
LINEAR_INPUTS = "[torch.rand(24, 64)]"


def linear_problem(folder: Path) -> Path:
    """The problem `LINEAR` of 64 columns."""
    return write(folder, LINEAR, inputs=LINEAR_INPUTS, init="[64]")


CANCELLED = """
def __init__(self, size):
    super().__init__()
    self.linear = nn.Linear(size, size)

def forward(self, x):
    x = torch.max(self.linear(x), dim=1, keepdim=True).values
    return torch.nn.functional.gelu(x - x.mean(dim=1, keepdim=True))
"""

CLAMPED_AWAY = """
def __init__(self, channels):
    super().__init__()
    self.conv = nn.Conv3d(channels, 4, 3)
    self.norm = nn.GroupNorm(2, 4)
    self.dropout = nn.Dropout(0.2)

def forward(self, x):
    x = self.norm(self.conv(x))
    x = torch.clamp(torch.min(x, torch.tensor(0.0)), min=0.0, max=1.0)
    return self.dropout(x)
"""

NO_STATE = """
def forward(self, {arguments}):
    return {result}
"""


def function(folder: Path, result: str, *, inputs: str, arguments: str = "x") -> Path:
    """A problem without weights."""
    model = NO_STATE.format(arguments=arguments, result=result)
    return write(folder, model, inputs=inputs)
