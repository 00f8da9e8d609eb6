"""`rooftree.evaluate`, `inspect` and `study`: one question, one answer, nothing printed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from experiments.app.candidates import candidates_of
from experiments.app.messages import say
from experiments.benchmarks.model_studies.config import MODEL_SEARCHES
from experiments.benchmarks.one_step.config import ONE_STEP
from experiments.benchmarks.studies.comparing import Comparison, compare
from experiments.benchmarks.studies.config import (
    Study,
    find_study,
    read_study,
    read_table,
    study_of,
)
from experiments.benchmarks.studies.folder import StudyFolder
from experiments.benchmarks.studies.running import cores, plan_of, run_study
from experiments.inspect.request import InspectRequest
from experiments.inspect.results import Inspection
from experiments.runs.tasks.files import find_task
from experiments.runs.wiring import composing
from experiments.runs.wiring.resolving import rooftree_version
from mcts.domain import Candidate, Evaluation, Scalar
from mcts.errors import InputError
from mcts.options import AUTO, JudgingOptions


def evaluate(
    task: str | Path,
    *kernels: str | Path | Candidate,
    tunables: Mapping[str, Scalar] | None = None,
    evaluator: str = AUTO,
    judging: JudgingOptions | None = None,
    seed: int = 0,
    energy: bool = False,
) -> tuple[Evaluation, ...]:
    """Verify and time kernels: files or candidates, or the task's own without any.

    `tunables` are values for those given as files. A kernel that fails is an `Evaluation` that says
    why. Raises InputError if one does not fit the task or the evaluator cannot answer for it.
    """
    rules = judging or JudgingOptions()
    if evaluator != AUTO:
        rules = JudgingOptions(**{**rules.model_dump(exclude_unset=True), "evaluator": evaluator})
    source = find_task(str(task), rules.policy, rules.dialect, rules.kernel)
    values = [f"{name}={value}" for name, value in (tunables or {}).items()]
    asked: list[Candidate] = []
    for kernel in kernels or (None,):
        if isinstance(kernel, Candidate):
            asked.append(kernel)
            continue
        files = [] if kernel is None else [Path(kernel)]
        asked += [candidate for _, candidate in candidates_of(source.task, files, values)]
    with closing(composing.choose_evaluator(source, rules, seed=seed, on_progress=say)) as judge:
        if energy and not judge.measures_energy:
            raise InputError(f"evaluator {judge.name} measures no energy")
        found = []
        for candidate in asked:
            evaluation = judge.evaluate(candidate)
            if energy and evaluation.measured:
                evaluation = judge.measure_energy(candidate, evaluation)
            found.append(evaluation)
    return tuple(found)


def inspect(
    file: str | Path,
    *,
    task: str | None = None,
    tunables: Mapping[str, Scalar] | None = None,
    replay: str | Path | None = None,
    device: int = 0,
    arch: str | None = None,
    timeout_s: float = 60.0,
    args: tuple[str, ...] = (),
) -> Inspection:
    """Profile a kernel, a PyTorch model, a program, a binary or a report, and say what is slow.

    Its parts, the longest first, have the profile, the roofline and the guidance. `args` go to a
    program; `task` is what a kernel belongs to, or the problem of a `ModelNew`. Raises InputError
    for what cannot be inspected.
    """
    from experiments.inspect.inspecting import inspect_file

    request = InspectRequest(
        file=Path(file),
        task=task,
        values=tuple(f"{name}={value}" for name, value in (tunables or {}).items()),
        replay=None if replay is None else Path(replay),
        device=device,
        arch=arch,
        timeout_s=timeout_s,
        args=args,
    )
    request.check()
    return inspect_file(request, on_progress=say)


def study(
    config: str | Path | Mapping[str, Any],
    *,
    out: str | Path | None = None,
    jobs: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Run what is missing of a study on recordings or expansions, and compare its arms.

    config: a bundled study's name, a TOML file, or what such a file holds. `on_progress` is called
    with how many runs are done and how many there are. Studies with a model need a session and are
    run by the command. Raises InputError if it cannot be run.
    """
    asked = _study(config)
    folder = StudyFolder(Path(out) if out is not None else Path("studies") / asked.name)
    plan = plan_of(asked, version=rooftree_version())
    with folder.held():
        folder.write_plan(plan)
        run_study(plan, folder, jobs=jobs or cores(), show=on_progress or (lambda *_: None))
    return compare(plan, folder.lines())


def _study(config: str | Path | Mapping[str, Any]) -> Study:
    if isinstance(config, Mapping):
        return study_of(dict(config), Path.cwd() / "study")
    path = find_study(str(config))
    kind = read_table(path).get("kind")
    if kind in (ONE_STEP, MODEL_SEARCHES):
        raise InputError(f"{path} asks a model: rooftree study {config}")
    return read_study(path)
