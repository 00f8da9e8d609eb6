"""Never ends, and ignores every signal that can be ignored."""

import contextlib
import signal
import time

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            with contextlib.suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_IGN)
        while True:
            with contextlib.suppress(BaseException):
                time.sleep(60)
