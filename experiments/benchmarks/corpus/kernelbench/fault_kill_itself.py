"""Kills its own process."""

import os
import signal

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        os.kill(os.getpid(), signal.SIGKILL)
