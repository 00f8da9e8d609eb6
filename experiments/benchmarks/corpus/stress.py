"""A stress run: many hostile candidates in a row, their cost and what they leave behind."""

from __future__ import annotations

import contextlib
import ctypes
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from experiments.benchmarks.corpus.cases import CorpusCase
from experiments.benchmarks.corpus.running import Factory, Say, grouped, judge, line, opened
from experiments.benchmarks.corpus.verdicts import JudgedCase
from mcts.domain import Candidate
from mcts.errors import InputError, RooftreeError
from profilers.hardware.device import find_gpu

_SET_CHILD_SUBREAPER = 36


@dataclass(slots=True)
class StressRun:
    """What came of it. Memory is what the GPU has in use, in bytes; None if it cannot be asked.

    `left` are the processes that descend from this one and still live once all is closed.
    """

    results: list[JudgedCase] = field(default_factory=list)
    hardware: str = ""
    seconds: float = 0.0
    left: list[str] = field(default_factory=list)
    memory_before: int | None = None
    memory_after: int | None = None

    @property
    def per_hour(self) -> float:
        return 3600 * len(self.results) / self.seconds if self.seconds else 0.0

    @property
    def wrong(self) -> list[JudgedCase]:
        return [result for result in self.results if result.wrong]

    @property
    def verdicts(self) -> Counter[str]:
        return Counter(str(result.verdict) for result in self.results)

    def to_json(self) -> dict[str, Any]:
        return {
            "candidates": len(self.results),
            "seconds": self.seconds,
            "per_hour": self.per_hour,
            "verdicts": dict(self.verdicts),
            "wrong": {result.case.name: result.wrong for result in self.wrong},
            "left_processes": self.left,
            "gpu_memory_before": self.memory_before,
            "gpu_memory_after": self.memory_after,
        }


def run_stress(
    cases: Sequence[CorpusCase],
    factory: Factory,
    *,
    count: int,
    device: int,
    on_progress: Say,
    is_overdue: Callable[[], bool] = lambda: False,
) -> StressRun:
    """Judge `count` hostile candidates, shared out over the tasks, cycling through each one's.

    Every candidate is made unique, so that nothing of it is remembered. InputError if none of
    the cases is hostile; WorldError of an evaluator that a candidate has broken ends the run.
    Once `is_overdue`, none is begun.
    """
    groups = grouped([one for one in cases if one.hostile])
    if not groups:
        raise InputError("none of the chosen cases is hostile")
    _adopt_orphans()
    found = StressRun(memory_before=gpu_memory_in_use(device))
    before = set(descendants())
    shares = [count // len(groups) + (i < count % len(groups)) for i in range(len(groups))]
    for group, share in zip(groups, shares, strict=True):
        if share == 0:
            continue
        with opened(factory, group.task) as evaluator:
            found.hardware = found.hardware or str(evaluator.hardware)
            begin = time.monotonic()
            for number, one in enumerate(islice(cycle(group.cases), share)):
                if is_overdue():
                    break
                result = judge(evaluator, _Numbered.of(one, number))
                found.results.append(result)
                on_progress(f"{len(found.results)}/{count} {line(result)}")
            found.seconds += time.monotonic() - begin
        if is_overdue():
            break
    found.left = [text for pid, text in descendants().items() if pid not in before]
    found.memory_after = gpu_memory_in_use(device)
    return found


class _Numbered(CorpusCase):
    """An case whose candidate differs from its others by a comment."""

    number: int = 0

    @classmethod
    def of(cls, case: CorpusCase, number: int) -> _Numbered:
        fields = case.model_dump(by_alias=True)
        return cls.model_validate({**fields, "number": number})

    @property
    def candidate(self) -> Candidate:
        return Candidate(source=f"{self.source}\n{self.dialect.comment} {self.number}\n")


def descendants(root: int | None = None) -> dict[int, str]:
    """Live processes that descend from `root`, by default this one: pid and what they are."""
    parents: dict[int, int] = {}
    names: dict[int, str] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            name, _, rest = (folder / "stat").read_text().rpartition(")")
            state, parent = rest.split()[:2]
            if state not in "ZX":
                parents[int(folder.name)] = int(parent)
                names[int(folder.name)] = f"{folder.name} {name.partition('(')[2]}"
    known = {os.getpid() if root is None else root}
    while True:
        more = {pid for pid, parent in parents.items() if parent in known} - known
        if not more:
            break
        known |= more
    known.discard(os.getpid() if root is None else root)
    return {pid: names[pid] for pid in sorted(known)}


def gpu_memory_in_use(device: int) -> int | None:
    """Bytes in use on the GPU by NVML; None if it cannot be asked."""
    try:
        import pynvml

        uuid = find_gpu(device).uuid
    except (ImportError, RooftreeError):
        return None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    try:
        handle = pynvml.nvmlDeviceGetHandleByUUID(uuid)
        return int(pynvml.nvmlDeviceGetMemoryInfo(handle).used)
    except pynvml.NVMLError:
        return None
    finally:
        pynvml.nvmlShutdown()


def _adopt_orphans() -> None:
    """Become the parent of every orphan among the descendants, so that none is overlooked."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
