"""What a factory of an entry-point group is given: one request in, one part out.

Factories under ``rooftree.proposers`` take a `ProposerRequest`, those under
``rooftree.evaluators`` an `EvaluatorRequest`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from mcts.domain import Hardware, KernelTask
from mcts.library import Library
from mcts.options import JudgingOptions, Limits, ModelOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatorRequest:
    """What an evaluator is built from.

    `judging` are the options of the run; its `recording` is the T4 file to replay, None if there is
    none. `seed` is for the draws of a replay, `run_id` is the run it works for, and `on_progress`
    takes a line about what is being prepared.
    """

    task: KernelTask
    judging: JudgingOptions = field(default_factory=JudgingOptions)
    seed: int = 0
    run_id: str = ""
    on_progress: Callable[[str], None] | None = None

    @property
    def argument(self) -> str:
        """What stands behind the colon of the evaluator's name."""
        return self.judging.evaluator.partition(":")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposerRequest:
    """What a proposer is built from.

    `tunables_only`: the evaluator cannot judge new source, only tunable values. `hardware` is
    what will measure. `model` says which language model is asked and how, `library` what it may
    look things up in, to be closed with the proposer; `limits` is how far the run may go, `run_dir`
    and `run_id` are the run's. `prior` are recordings of the kernel on other GPUs.
    """

    task: KernelTask
    tunables_only: bool
    model: ModelOptions = field(default_factory=ModelOptions)
    library: Library | None = None
    limits: Limits = field(default_factory=Limits)
    run_dir: Path | None = None
    run_id: str = ""
    hardware: Hardware | None = None
    prior: tuple[Path, ...] = ()
