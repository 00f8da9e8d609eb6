"""Which CPU core runs what is timed: one and the same for baseline and candidate.

A model of many small kernels takes as long as its host takes to launch them, and cores are not
alike: on a virtual machine with busy neighbours one may need nearly twice as long as the next, and
others a second later. Two processes that each stay on a core of their own are then compared by
their cores. So whoever is being timed has one core, drawn for each pair of processes, and whoever
waits for its turn is kept on another one, where it cannot be in the way. To draw for each block is
worse: a virtual core that has idled has another speed at first. What a process has started, like
the workers of PyTorch's compiler, may run on every core but the one: there it would be in its way.
"""

from __future__ import annotations

import contextlib
import os
import random
from collections.abc import Sequence

from profilers.sandbox.process_tree import descendants, threads_of

_LOOKS = 4


class TimingCores:
    """Moves processes between cores, and what they have started out of the way. Not thread-safe.

    With fewer than two `cores` it does nothing. `refused` is whether the kernel did not let it.
    """

    def __init__(self, cores: Sequence[int] = ()) -> None:
        self._cores = tuple(cores)
        self._all = frozenset(os.sched_getaffinity(0))
        self._pair = self._drawn()
        self.refused = False

    def draw(self) -> None:
        """Have the next turns take place on another pair of cores, drawn at random."""
        self._pair = self._drawn()

    def turn_of(self, running: Sequence[int], *, waiting: Sequence[int]) -> None:
        """Give the processes `running` the one core, and `waiting` the other one.

        Of each the first is the one that all others descend from; what else descends from it may
        run on every core but the one.
        """
        if not self._pair:
            return
        on, off = self._pair
        self._move(waiting, frozenset({off}), aside=frozenset(self._cores) - {on})
        self._move(running, frozenset({on}), aside=frozenset(self._cores) - {on})

    def release(self, *processes: Sequence[int]) -> None:
        """Let processes run on every core again, and what they have started."""
        if self._pair:
            for each in processes:
                self._move(each, self._all, aside=self._all)

    def _drawn(self) -> tuple[int, ...]:
        return tuple(random.SystemRandom().sample(self._cores, 2)) if len(self._cores) > 1 else ()

    def _move(
        self, processes: Sequence[int], cores: frozenset[int], *, aside: frozenset[int]
    ) -> None:
        if self.refused:
            return
        try:
            for pid in processes:
                _move_threads(pid, cores)
            for pid in descendants(processes[0]):
                if pid not in processes:
                    _move_threads(pid, aside)
        except PermissionError:
            self.refused = True


def cores_beside(gpu: int, gpus: int) -> tuple[int, ...]:
    """This process's cores, or where there are enough its share of them for GPU number `gpu` of
    `gpus`, so that judges on several GPUs do not meet.
    """
    cores = sorted(os.sched_getaffinity(0))
    return tuple(cores[gpu::gpus] if len(cores) >= 2 * gpus else cores)


def _move_threads(pid: int, cores: frozenset[int]) -> None:
    """Move every thread of a process. One that is started meanwhile is where its parent is, so that
    looking again finds few; a process that starts them without end is not waited for.
    """
    moved: set[int] = set()
    for _ in range(_LOOKS):
        new = set(threads_of(pid)) - moved
        for thread in new:
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(thread, cores)
        moved |= new
