"""`rooftree tasks synthesise`: so many tasks that pass, and what was thrown out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.training.synthesis.composing import compositions, source_of
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
    same checks were made. Raises InputError if `out` holds something, if PyTorch is missing, or if
    too few pass.
    """
    if out.exists() and any(out.iterdir()):
        raise InputError(f"{out} is there and holds something: name a new folder with -o")
    checks_gpu = can_use_gpu(judging) if on_gpu is None else on_gpu
    known, thrown_out, operators = Likeness(benchmark), Counter[str](), Counter[str]()
    folder = out / LEVEL
    taken = tried = 0
    for found in compositions(seed):
        if taken == count:
            break
        if tried >= _MOST_TRIED * count:
            raise InputError(
                f"only {taken} of {tried} tasks that were tried passed: {_listed(thrown_out)}"
            )
        tried += 1
        source = source_of(found, found.first)
        why = known.refusal(source) or fails_on_processor(source_of(found, found.small))
        name = f"{taken + 1}_{'_'.join(found.operators)}.py"
        if why is None:
            folder.mkdir(parents=True, exist_ok=True)
            write_whole(folder / name, source)
            if checks_gpu and (why := fails_on_gpu(folder / name, judging, say)):
                (folder / name).unlink()
        if why is not None:
            thrown_out[why] += 1
            continue
        known.take(source)
        operators.update(found.operators)
        taken += 1
        progress(taken, count)
    made = Made(
        taken=taken,
        tried=tried,
        thrown_out=dict(thrown_out.most_common()),
        operators=dict(operators.most_common()),
        unchecked=tuple(_unchecked(checks_gpu, benchmark)),
    )
    facts = {
        "seed": seed,
        "taken": made.taken,
        "tried": made.tried,
        "thrown_out": made.thrown_out,
        "operators": made.operators,
        "unchecked": made.unchecked,
    }
    write_whole(out / FACTS, json.dumps(facts, indent=1) + "\n")
    return made


def _unchecked(checks_gpu: bool, benchmark: Sequence[Path]) -> list[str]:
    found = []
    if not checks_gpu:
        found.append("time, torch.compile's own kernels and the task gate: they need a GPU")
    if not benchmark:
        found.append("likeness to a benchmark: name one with --unlike")
    return found


def _listed(thrown_out: Mapping[str, int]) -> str:
    return "; ".join(f"{count} {why}" for why, count in thrown_out.items())
