"""A PyTorch model: a KernelBench problem's own, or a `ModelNew` for one, as the judge runs it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.inspect.targets import MODEL_NEW, defined_names
from experiments.runs.tasks.files import TaskSource, find_task
from experiments.runs.tasks.problems import PROBLEM_NAMES, is_problem
from experiments.text.words import clean
from mcts.domain import Candidate, Policy
from mcts.errors import InputError
from mcts.options import JudgingOptions

if TYPE_CHECKING:
    from profilers.profiles.inspecting import Inspected

_POLICY = Policy(inputs="drawn")
"""Whether a model also holds beyond what its problem draws is a matter for `evaluate`."""


@dataclass(frozen=True, slots=True)
class Model:
    """A candidate and the problem that it answers."""

    path: Path
    problem: TaskSource
    candidate: Candidate

    @property
    def recorded_as(self) -> str:
        """The text a recording goes by: the candidate's, with the problem's if that is another."""
        reference = self.problem.task.reference or ""
        own = self.candidate.source
        return own if own == reference else f"{own}\n# problem\n{reference}"


def read_model(path: Path, source: str, *, task: str | None) -> Model:
    """The model in a file. `task` is the problem that it answers, which may be in the file itself.

    Raises InputError, naming the file, for what is wrong.
    """
    defined = defined_names(source)
    if task is None and not defined.issuperset(PROBLEM_NAMES):
        raise InputError(f"{path} is a {MODEL_NEW}: name the problem that it answers with --task")
    if task is not None and MODEL_NEW not in defined:
        raise InputError(f"{path} is a problem of its own: --task would do nothing")
    if task is not None and not is_problem(Path(task)):
        raise InputError(f"--task {task}: a {MODEL_NEW} answers a KernelBench problem, a .py file")
    problem = find_task(task or str(path), _POLICY)
    candidate = problem.task.baseline
    if MODEL_NEW in defined:
        space = problem.task.dialect_of(source).space_of(source)
        candidate = Candidate(source=source, tunables=space.default() if space else {})
    return Model(path, problem, candidate)


def measure(model: Model, *, device: int, on_progress: Callable[[str], None]) -> Inspected:
    """Verify, time and profile the model on this machine's GPU, as a search would.

    Raises InputError if it is refused, fails or comes to wrong results.
    """
    from experiments.runs.wiring import composing
    from profilers.profiles.inspecting import Inspected

    judging = JudgingOptions(evaluator="gpu", device=device, ungated=True)
    evaluator = composing.choose_evaluator(model.problem, judging, on_progress=on_progress)
    with closing(evaluator):
        on_progress(f"judging {model.path.name}")
        evaluation = evaluator.evaluate(model.candidate)
        if evaluation.timing is None or not evaluation.measured:
            status = evaluation.status.replace("_", " ")
            raise InputError(f"{model.path}: {status}: {clean(evaluation.message)}")
        on_progress(f"profiling {model.path.name}")
        profile = evaluator.profile(model.candidate, evaluation)
        hardware = profile.hardware or evaluator.hardware
    return Inspected(
        profile=profile.model_copy(update={"hardware": hardware}),
        time_us=evaluation.timing.heaviest.median_us,
        work=profile.work,
    )
