"""A world for suites: problems that say how they turn out, and plug-ins that act it out.

A line of a problem file starting with ``# propose:`` is what one trial's candidate is like, in
order: ``2.0`` is so many times as fast as eager PyTorch, ``wrong`` is not right, ``shaky`` is
right once and never again, ``helper`` and ``ours`` import Rooftree's parts. ``# unfair`` is refused
by the gate, ``# broken`` fails as its own candidate, ``# no compile`` cannot be compiled,
``# suspect compile`` is doubted, ``# lost`` dies of it, ``# world`` loses the GPU. torch.compile is
1.25 times as fast as eager.

The environment variables SUITE_LOG (a file of what was asked, a line each) and SUITE_STOP_AT (a
line of that file at which the process is interrupted, or killed with SUITE_KILL) let a test stop
it where it wants. With SUITE_GPUS there are so many GPUs, which `--evaluator gpu` takes for paper.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from click.testing import Result

from experiments.runs.options import names
from experiments.runs.wiring import choosing, gpus
from mcts.domain import Candidate, Evaluation, Hardware, KernelTask, Profile, Timing, Verification
from mcts.errors import InputError, NoMoves, UnfairTask, UnfitTask, WorldError
from mcts.ports import Evaluator, Proposal, ProposalRequest, Proposer
from mcts.requests import EvaluatorRequest, ProposerRequest
from tests.support.commands import rooftree

COMPILED = 1.25
CONFIRMED = 0.99
EAGER_US = 100.0
SPEEDS = {"baseline": 1.0, "shaky": 3.0, "helper": 2.0, "ours": 2.0}
IMPORTS = {
    "helper": "from codegen.torch_cuda import compile_cuda\n",
    "ours": "import profilers.cuda.evaluator\n",
}
OPEN: list[Evaluator] = []
"""Who has the GPU: one evaluator at a time."""
USAGE = {"model": "paper", "prompt_tokens": 100, "completion_tokens": 11, "cost_usd": 0.01}
PROBLEM = """{lines}
class Model:
    def forward(self, x):
        return x

def get_inputs():
    return [1]

def get_init_inputs():
    return []
"""


def problem_text(*proposals: str, also: str = "") -> str:
    lines = [f"# propose: {proposal}" for proposal in proposals] + ([f"# {also}"] if also else [])
    return PROBLEM.format(lines="\n".join(lines))


def make_level(root: Path, problems: dict[str, str], *, level: int = 1) -> Path:
    """A checkout with one level; file names with their texts."""
    folder = root / "KernelBench" / f"level{level}"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in problems.items():
        (folder / name).write_text(text)
    return root


def run_suite(root: Path, out: Path, *words: object) -> Result:
    """`rooftree kernelbench run` on the checkout's first level."""
    given = ("--root", root, "--level", 1, "-o", out, *words)
    done = rooftree("kernelbench", "run", *given, columns=200)
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    return done


def install(patch: pytest.MonkeyPatch | None = None) -> None:
    """Make the plug-ins known: evaluator `paper`, proposer `canned`."""
    for group, name in ((names.EVALUATORS, "paper"), (names.PROPOSERS, "canned")):
        table = {**names.OURS[group], name: f"tests.support.suite_world:{name}"}
        if patch is None:
            names.OURS[group] = table  # type: ignore[index]
        else:
            patch.setitem(names.OURS, group, table)  # type: ignore[arg-type]


def install_gpus(count: int) -> None:
    """Have so many GPUs, with paper in place of what would measure on them."""
    names.OURS[names.EVALUATORS] = {  # type: ignore[index]
        **names.OURS[names.EVALUATORS], "gpu": "tests.support.suite_world:paper"
    }  # fmt: skip
    choosing.gpu_problem = lambda device=0, *, torch=False: None  # type: ignore[assignment]
    gpus.gpu_names = lambda: ("Paper GPU",) * count


def paper(request: EvaluatorRequest) -> PaperEvaluator:
    log(f"open {request.task.name} {'compiled' if request.judging.compiled else 'eager'}")
    if "SUITE_GPUS" in os.environ:
        log(f"{request.task.name} on GPU {request.judging.device}")
        time.sleep(0.3)  # so that a second process has come by then
    text = request.task.reference or ""
    if "# unfair" in text:
        raise UnfairTask(f"task {request.task.name} is no fair task: its output is constant")
    if "# no compile" in text and request.judging.compiled:
        raise UnfitTask("torch.compile fails on the model")
    if "# suspect compile" in text and request.judging.compiled:
        raise InputError("the model fails as its own candidate (suspect)")
    if "# lost" in text and request.judging.compiled:
        raise WorldError("the reference's process died")
    return PaperEvaluator(request.task, compiled=request.judging.compiled)


def canned(request: ProposerRequest) -> CannedProposer:
    return CannedProposer()


class PaperEvaluator(Evaluator):
    name = "paper"
    can_confirm = True
    hardware = Hardware(name="Paper GPU")

    def __init__(self, task: KernelTask, *, compiled: bool) -> None:
        self.task, self._compiled = task, compiled
        if OPEN:
            raise WorldError("the GPU is in use by another evaluator")
        OPEN.append(self)

    def evaluate(self, candidate: Candidate) -> Evaluation:
        log(f"evaluate {self.task.name} {kind_of(candidate)}")
        return self._judged(candidate)

    def confirm(self, candidate: Candidate, evaluation: Evaluation) -> Evaluation:
        log(f"confirm {self.task.name} {kind_of(candidate)}")
        if kind_of(candidate) == "shaky":
            return wrong(candidate)
        return self._judged(candidate, CONFIRMED)

    def _judged(self, candidate: Candidate, factor: float = 1.0) -> Evaluation:
        kind = kind_of(candidate)
        if "# world" in (self.task.reference or "") and kind != "baseline":
            raise WorldError("the GPU has fallen off the bus")
        if kind == "wrong" or (kind == "baseline" and "# broken" in (self.task.reference or "")):
            return wrong(candidate)
        speed = SPEEDS.get(kind) or float(kind)
        speedup = speed * factor / (COMPILED if self._compiled else 1.0)
        time_us = EAGER_US / speed
        return Evaluation(
            candidate_id=candidate.id,
            status="measured",
            verification=Verification(passed=True, rounds=3),
            timing=Timing(
                median_us=time_us,
                low_us=time_us,
                high_us=time_us,
                baseline_us=time_us * speedup,
                speedup=speedup,
                speedup_low=speedup * 0.98,
                speedup_high=speedup * 1.02,
                rounds=20,
                baseline="torch.compile" if self._compiled else "eager PyTorch",
                samples_us=(time_us,) * 5,
                baseline_samples_us=(time_us * speedup,) * 5,
            ),
        )

    def profile(self, candidate: Candidate, evaluation: Evaluation) -> Profile:
        return Profile(missing={"everything": "paper has no counters"})

    def close(self) -> None:
        if self in OPEN:
            OPEN.remove(self)


class CannedProposer(Proposer):
    """Proposes what the problem says, one line for each trial."""

    name = "canned"
    inline = True

    def propose(self, request: ProposalRequest) -> Proposal:
        lines = [
            line.removeprefix("# propose: ")
            for line in (request.task.reference or "").splitlines()
            if line.startswith("# propose: ")
        ]
        for number, line in enumerate(lines):
            head = IMPORTS.get(line, "")
            source = f"# kind: {line}\n# number {number}\n{head}class ModelNew: ...\n"
            candidate = Candidate(source=source)
            if candidate.id not in request.tried:
                log(f"propose {request.task.name} {line}")
                return Proposal(candidate=candidate, usage=USAGE)
        raise NoMoves("all was proposed")


def kind_of(candidate: Candidate) -> str:
    first = candidate.source.partition("\n")[0]
    return first.removeprefix("# kind: ") if first.startswith("# kind: ") else "baseline"


def wrong(candidate: Candidate) -> Evaluation:
    return Evaluation(
        candidate_id=candidate.id,
        status="wrong_result",
        message="7 of 8 elements differ",
        verification=Verification(passed=False, rounds=1),
    )


def log(line: str) -> None:
    """Note what was asked; stop the process there where a test wants that."""
    if (path := os.environ.get("SUITE_LOG")) is None:
        return
    with Path(path).open("a") as stream:
        stream.write(line + "\n")
    if line == os.environ.get("SUITE_STOP_AT"):
        os.kill(os.getpid(), signal.SIGKILL if os.environ.get("SUITE_KILL") else signal.SIGINT)


if __name__ in ("__main__", "__mp_main__"):  # the latter in processes of a suite
    install()
    if "SUITE_GPUS" in os.environ:
        install_gpus(int(os.environ["SUITE_GPUS"]))
if __name__ == "__main__":
    from experiments.cli import main

    main()
