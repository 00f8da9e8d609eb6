"""`rooftree tasks synthesise`: so many tasks that pass, and what was thrown out."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from experiments.training.synthesis.composing import Composition, compositions, source_of
from experiments.training.synthesis.filters import (
    Likeness,
    can_use_gpu,
    fails_on_gpu,
    fails_on_processor,
)
from mcts.errors import InputError
from mcts.files import write_whole
from mcts.options import JudgingOptions

FACTS = "synthesis.json"
LEVEL = "level2"
"""Stacks of operators: a suite finds them with ``--level 2``."""
_MOST_TRIED = 50
"""Times as many are made as are wanted, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """How many tasks were made and tried, what was thrown out by reason, how often each operator is
    in those that were taken, and what was not checked.
    """

    taken: int
    tried: int
    thrown_out: Mapping[str, int]
    operators: Mapping[str, int]
    unchecked: tuple[str, ...]


def make_tasks(
    count: int,
    out: Path,
    *,
    seed: int,
    benchmark: Sequence[Path],
    judging: JudgingOptions,
    on_gpu: bool | None,
    say: Callable[[str], None],
    progress: Callable[[int, int], None],
) -> Made:
    """Write `count` problem files into the folder `out`, numbered as KernelBench numbers its own.

    on_gpu: whether each is also gated, compiled and timed on a GPU; None where there is one.
    benchmark: problem files that no task may be like. The same seed makes the same files where the
    same checks were made. What an earlier call left in `out` is replaced; however this one ends,
    the folder says what it holds. Raises InputError if `out` holds something else, if PyTorch or a
    wanted GPU is missing, or if too few pass.
    """
    checks_gpu = can_use_gpu(judging) if on_gpu is None else on_gpu
    if checks_gpu and not can_use_gpu(judging):
        raise InputError("--gpu: no GPU with PyTorch can be used here")
    _clear(out)
    made = _Making(out, judging, Likeness(benchmark), _unchecked(checks_gpu, benchmark))
    try:
        for found in compositions(seed):
            if made.taken == count:
                break
            if made.tried >= _MOST_TRIED * count:
                raise InputError(
                    f"only {made.taken} of {made.tried} tasks that were tried passed: "
                    f"{_listed(made.thrown_out)}"
                )
            made.take(found, checks_gpu=checks_gpu, say=say)
            progress(made.taken, count)
    finally:
        write_whole(out / FACTS, json.dumps({"seed": seed, **asdict(made.found)}, indent=1) + "\n")
    return made.found


class _Making:
    """What was made so far."""

    def __init__(
        self, out: Path, judging: JudgingOptions, known: Likeness, unchecked: Sequence[str]
    ) -> None:
        self._out, self._judging, self._known = out, judging, known
        self._unchecked = tuple(unchecked)
        self.thrown_out, self._operators = Counter[str](), Counter[str]()
        self.taken = self.tried = 0

    def take(self, found: Composition, *, checks_gpu: bool, say: Callable[[str], None]) -> None:
        """Write the task down if it passes, else count why not."""
        self.tried += 1
        source = source_of(found, found.first)
        why = self._known.refusal(source)
        why = why or fails_on_processor(source_of(found, found.small))
        if why is None and checks_gpu:
            with tempfile.TemporaryDirectory() as aside:
                problem = Path(aside) / "1_tried.py"
                write_whole(problem, source)
                why = fails_on_gpu(problem, self._judging, say)
        if why is not None:
            self.thrown_out[why] += 1
            return
        self.taken += 1
        name = f"{self.taken}_{'_'.join(found.operators)}.py"
        write_whole(self._out / LEVEL / name, source)
        self._known.take(source)
        self._operators.update(found.operators)

    @property
    def found(self) -> Made:
        return Made(
            taken=self.taken,
            tried=self.tried,
            thrown_out=dict(self.thrown_out.most_common()),
            operators=dict(self._operators.most_common()),
            unchecked=self._unchecked,
        )


def _clear(out: Path) -> None:
    """Make the folder, without what an earlier call left there. InputError for another's folder."""
    if out.exists() and any(out.iterdir()) and not (out / FACTS).is_file():
        raise InputError(f"{out} is there and holds something else: name a new folder with -o")
    shutil.rmtree(out / LEVEL, ignore_errors=True)
    (out / LEVEL).mkdir(parents=True)


def _unchecked(checks_gpu: bool, benchmark: Sequence[Path]) -> list[str]:
    found = []
    if not checks_gpu:
        found.append("time, torch.compile's own kernels and the task gate: they need a GPU")
    if not benchmark:
        found.append("likeness to a benchmark: name one with --unlike")
    return found


def _listed(thrown_out: Mapping[str, int]) -> str:
    return "; ".join(f"{count} {why}" for why, count in thrown_out.items())
