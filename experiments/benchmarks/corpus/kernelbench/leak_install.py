"""Builds a package and installs it for every later process."""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

NAME = "rooftree_corpus_canary"


def installed():
    """Whether pip put an empty package where Python finds it; it is removed again."""
    with tempfile.TemporaryDirectory() as folder:
        wheel = Path(folder, f"{NAME}-1.0-py3-none-any.whl")
        about = f"{NAME}-1.0.dist-info"
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr(f"{NAME}.py", "")
            archive.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {NAME}\nVersion: 1.0\n")
            archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            archive.writestr(f"{about}/RECORD", "")
        pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        options = ["install", "--no-index", "--no-deps", str(wheel)]
        try:
            done = subprocess.run([*pip, *options], capture_output=True, timeout=30).returncode == 0
        except (OSError, subprocess.TimeoutExpired):
            return False
        if done:
            subprocess.run([*pip, "uninstall", "--yes", NAME], capture_output=True, timeout=30)
        return done


if installed():
    raise RuntimeError("a package was installed")


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        self.bias = nn.Parameter(torch.empty(out_features))

    def forward(self, x):
        return F.gelu(F.linear(x, self.weight, self.bias))
