"""Plug-ins of a suite that is judged by the real judge, on the device of numpy and sleep."""

from __future__ import annotations

from mcts.domain import Candidate
from mcts.errors import InputError, NoMoves
from mcts.ports import Proposal, ProposalRequest, Proposer
from mcts.requests import EvaluatorRequest, ProposerRequest
from profilers.kernelbench.judge.evaluator import KernelBenchEvaluator, Processes
from profilers.kernelbench.judge.settings import KernelBenchSettings

PROBLEM = """
import time

class Model:
    def __init__(self, rng):
        self.weight = rng.normal(size=(64, 64)).astype("f4")

    def __call__(self, x):
        time.sleep(0.008)
        return {result}

    def exact(self, x):
        return x @ self.weight.astype("f8")

def get_inputs(rng):
    return [rng.normal(size=(32, 64)).astype("f4")]

def get_init_inputs():
    return []
"""
FAIR = PROBLEM.format(result="x @ self.weight")
CONSTANT = PROBLEM.format(result="np.zeros((32, 64), 'f4')")
CANDIDATE = """
import time

class ModelNew:
    def __init__(self, rng):
        self.weight = np.zeros((64, 64), "f4")

    def __call__(self, x):
        {body}
"""
FAST = CANDIDATE.format(body="time.sleep(0.002); return x @ self.weight")
WRONG = CANDIDATE.format(body="return x @ self.weight + 1")
# Loose clocks: what the host's scheduler does to a sleep is not what is tested here.
SETTINGS = {
    "blocks": 4, "least_blocks": 4, "calls": 6, "call_deadline_s": 4.0, "load_deadline_s": 4.0,
    "unsafe": True, "clock_slack_us": 4000.0, "confirm_processes": 2,
    "widest_interval": 1e9,
}  # fmt: skip


def evaluator(request: EvaluatorRequest) -> KernelBenchEvaluator:
    if request.judging.compiled:
        raise InputError("there is nothing that compiles numpy")
    return KernelBenchEvaluator(
        request.task,
        device="cpu",
        settings=KernelBenchSettings(**SETTINGS),
        processes=Processes(
            oracle="tests.support.fake_device.oracle",
            fork_server="tests.support.fake_device.fork_server",
            needs="numpy",
        ),
    )


def proposer(request: ProposerRequest) -> Proposer:
    return WrittenBefore()


class WrittenBefore(Proposer):
    name = "written before"
    inline = True

    def propose(self, request: ProposalRequest) -> Proposal:
        for source in (WRONG, FAST):
            if (candidate := Candidate(source=source)).id not in request.tried:
                return Proposal(candidate=candidate)
        raise NoMoves("all was proposed")
