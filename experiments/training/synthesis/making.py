"""`rooftree tasks synthesise`: so many tasks that pass, and what was thrown out."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

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
_MOST_AT_ONCE = 8
"""Tried at a time on a GPU; no more than half as many as there are processors."""


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
    made = _Making(out, Likeness(benchmark), _unchecked(checks_gpu, benchmark))
    try:
        with ExitStack() as held:
            trying = held.enter_context(_Trying(judging, say)) if checks_gpu else None
            for found, why in _tried(compositions(seed), made.known, trying):
                if made.tried >= _MOST_TRIED * count:
                    raise InputError(
                        f"only {made.taken} of {made.tried} tasks that were tried passed: "
                        f"{_listed(made.thrown_out)}"
                    )
                made.take(found, why)
                progress(made.taken, count)
                if made.taken == count:
                    break
    finally:
        write_whole(out / FACTS, json.dumps({"seed": seed, **asdict(made.found)}, indent=1) + "\n")
    return made.found


def _tried(
    found: Iterable[Composition], known: Likeness, trying: _Trying | None
) -> Iterator[tuple[Composition, str | None]]:
    """Each composition in order, with why it fails; some are tried ahead on a GPU.

    What was taken by then is not known ahead, so that whoever takes them asks once more.
    """
    ahead: deque[tuple[Composition, str | None, Future[str | None] | None]] = deque()
    for one in found:
        source = source_of(one, one.first)
        why = known.refusal(source) or fails_on_processor(source_of(one, one.small))
        pending = trying.begin(source) if trying is not None and why is None else None
        ahead.append((one, why, pending))
        while len(ahead) > (0 if trying is None else trying.ahead):
            first, why, pending = ahead.popleft()
            if pending is not None and trying is not None:
                why = trying.end(source_of(first, first.first), pending)
            yield first, why


class _Trying:
    """Problems tried side by side on a GPU. A context manager; see `ProblemTrials`."""

    def __init__(self, judging: JudgingOptions, say: Callable[[str], None]) -> None:
        from profilers.kernelbench.judge.trials import ProblemTrials

        at_once = max(1, min(_MOST_AT_ONCE, (os.cpu_count() or 1) // 2))
        self.ahead = 2 * at_once
        self._gpu = ProblemTrials(judging.device, say=say)
        self._pool = ThreadPoolExecutor(at_once, "rooftree-trial")
        self._going: set[Future[str | None]] = set()

    def __enter__(self) -> Self:
        self._gpu.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._gpu.__exit__()
        self._pool.shutdown()

    def begin(self, source: str) -> Future[str | None]:
        """Have it tried as soon as there is a place."""
        future = self._pool.submit(fails_on_gpu, source, self._gpu)
        self._going.add(future)
        future.add_done_callback(self._going.discard)
        return future

    def end(self, source: str, future: Future[str | None]) -> str | None:
        """What came of it; where others left it no room, tried again when they have ended."""
        from profilers.kernelbench.judge.trials import NoRoom

        try:
            return future.result()
        except NoRoom:
            wait(list(self._going))
        try:
            return fails_on_gpu(source, self._gpu)
        except NoRoom:
            return "is too large for the GPU"


class _Making:
    """What was made so far."""

    def __init__(self, out: Path, known: Likeness, unchecked: Sequence[str]) -> None:
        self._out, self.known, self._unchecked = out, known, tuple(unchecked)
        self.thrown_out, self._operators = Counter[str](), Counter[str]()
        self.taken = self.tried = 0

    def take(self, found: Composition, why: str | None) -> None:
        """Write the task down if it passes, else count why not."""
        self.tried += 1
        source = source_of(found, found.first)
        why = self.known.refusal(source) or why
        if why is not None:
            self.thrown_out[why] += 1
            return
        self.taken += 1
        name = f"{self.taken}_{'_'.join(found.operators)}.py"
        write_whole(self._out / LEVEL / name, source)
        self.known.take(source)
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
