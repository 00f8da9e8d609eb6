"""Problems tried in the oracle alone: on the processor here, several at a time."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from mcts.errors import WorldError
from profilers.kernelbench.judge.trials import NoRoom, ProblemTrials, Trial

pytest.importorskip("torch")

PROBLEM = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return {}

def get_inputs():
    return [torch.rand(64, 32)]

def get_init_inputs():
    return []
"""
RAISES = "(_ for _ in ()).throw(torch.OutOfMemoryError('none is left'))"
ANY = {"shortest_us": 0.0, "longest_us": 1e9}


def problem(formula: str) -> str:
    return PROBLEM.replace("{}", formula)


def test_problems_are_tried_side_by_side() -> None:
    formulas = {
        "right": "torch.relu(x) + 1",
        "constant": "torch.ones(64, 32)",
        "fails": "x @ x",
    }
    with ProblemTrials("cpu", say=print) as trials, ThreadPoolExecutor(3) as pool:
        told = pool.map(lambda one: trials.try_out(problem(one), **ANY), formulas.values())
        found = dict(zip(formulas, told, strict=True))
    assert found["right"].refused is found["right"].fails is None
    assert (found["right"].us or 0) > 0
    assert found["constant"].us is None and "output" in (found["constant"].refused or "")
    assert found["fails"].us is None and "RuntimeError" in (found["fails"].fails or "")


def test_what_takes_too_long_is_not_compiled() -> None:
    with ProblemTrials("cpu", say=print) as trials:
        found = trials.try_out(problem("torch.relu(x)"), shortest_us=1e8, longest_us=1e9)
    assert found == Trial(us=found.us)


def test_a_device_without_room_says_so() -> None:
    with ProblemTrials("cpu", say=print) as trials, pytest.raises(NoRoom):
        trials.try_out(problem(RAISES), **ANY)


def test_leaving_ends_what_goes_on() -> None:
    raised: list[Exception] = []

    def waits(trials: ProblemTrials) -> None:
        try:
            trials.try_out(problem("__import__('time').sleep(600)"), **ANY)
        except WorldError as error:
            raised.append(error)

    with ProblemTrials("cpu", say=print) as trials:
        thread = threading.Thread(target=waits, args=(trials,))
        thread.start()
        time.sleep(1.0)
    thread.join(timeout=60.0)
    assert len(raised) == 1
    with pytest.raises(WorldError, match="ended"):
        trials.try_out(problem("x"), **ANY)
