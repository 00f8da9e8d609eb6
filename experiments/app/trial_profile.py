"""One real profile, tried by `doctor`: whether counters of a PyTorch candidate can be had here."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from experiments.app.doctor import Check
from experiments.runs.machines.machine import gpu_problem
from experiments.runs.tasks.problems import problem_task
from mcts.domain import KernelTask, Policy, Profile
from mcts.errors import RooftreeError
from mcts.options import JudgingOptions
from mcts.ports import Evaluator
from mcts.requests import EvaluatorRequest
from mcts.text import one_line

NAME = "trial profile"
PROBLEM = '''
import torch


class Model(torch.nn.Module):
    """Adds a bias to rows."""

    def __init__(self, columns):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.randn(columns))

    def forward(self, x):
        return x + self.bias


def get_inputs():
    return [torch.randn(4096, 1024)]


def get_init_inputs():
    return [1024]
'''
_LONGEST = 500

OpenJudge = Callable[[EvaluatorRequest], Evaluator]


def try_profile(on_progress: Callable[[str], None]) -> Check:
    """Profile the problem's own model on the first GPU as a search would; takes half a minute.

    A note says why there is nothing to try, or why counters are missing.
    """
    from experiments.runs.wiring.parts import gpu_evaluator
    from profilers import ncu
    from profilers.compiling.toolchain import find_tool

    if reason := gpu_problem(torch=True):
        return Check(NAME, "note", f"not tried: {reason}")
    if find_tool(ncu.TOOL) is None:
        return Check(NAME, "note", f"not tried: {ncu.TOOL} was not found")
    on_progress("profiling a PyTorch candidate, to see whether that works here")
    return profile_with(gpu_evaluator, on_progress)


def profile_with(judge: OpenJudge, on_progress: Callable[[str], None]) -> Check:
    """What a judge's profile of a PyTorch candidate shows."""
    from profilers.children.processes import ChildGone
    from profilers.children.protocol import RequestRefused

    begin = time.monotonic()
    task = problem_task(PROBLEM, Path("trial.py"), Policy())
    request = EvaluatorRequest(
        task=task, judging=JudgingOptions(evaluator="gpu"), on_progress=on_progress
    )
    try:
        profile = _profiled(judge, request, task)
    except (RooftreeError, ChildGone, RequestRefused, OSError) as error:
        return Check(NAME, "note", f"a PyTorch candidate was not judged: {_line(error)}")
    level, words = _seen(profile)
    return Check(NAME, level, f"{words} ({time.monotonic() - begin:.0f} s)")


def _profiled(judge: OpenJudge, request: EvaluatorRequest, task: KernelTask) -> Profile:
    evaluator = judge(request)
    try:
        return evaluator.profile(task.baseline, evaluator.evaluate(task.baseline))
    finally:
        evaluator.close()


def _seen(profile: Profile) -> tuple[Literal["ok", "note"], str]:
    from profilers import ncu
    from profilers.ncu.metrics import COLLECTED
    from profilers.profiles.profiling import TIMELINE

    counted = [kernel for kernel in profile.kernels if kernel.metrics]
    seen = {name for kernel in counted for name in kernel.metrics} & set(COLLECTED)
    if not counted:
        why = profile.missing.get(ncu.TOOL) or "the profiled call launched no kernel"
        return "note", f"a PyTorch candidate has no hardware counters: {_line(why)}"
    got = f"{len(seen)} of {len(COLLECTED)} counters of a PyTorch candidate's kernel"
    if ncu.TOOL in profile.missing:
        return "note", f"{got}; {_line(profile.missing[ncu.TOOL])}"
    if profile.timeline is None:
        why = profile.missing.get(TIMELINE) or "nothing was traced"
        return "note", f"{got}, but no timeline: {_line(why)}"
    return "ok", f"{got}, and a timeline"


def _line(reason: object) -> str:
    return one_line(str(reason), _LONGEST)
