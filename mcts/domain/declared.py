"""Which tunables a source declares."""

from __future__ import annotations

from functools import lru_cache

from mcts.domain.host_plan import is_host_source, parse_host_plan
from mcts.domain.launch_plan import parse_launch_plan
from mcts.domain.task import KernelTask
from mcts.domain.tunables import TunableSpace


def declared_space(task: KernelTask, source: str) -> TunableSpace:
    """The tunables of a candidate's plan, or the task's where its source has none of its own.

    Where only some of the task's combinations exist (`TunableSpace.rows`), that holds for a source
    that declares the same tunables. InputError if the plan cannot be read.
    """
    if task.dialect == "cuda":
        declared = _of_launch_plan(source)
        same = task.space.rows and declared.tunables == task.space.tunables
        return task.space if same else declared
    if task.dialect == "host" and is_host_source(source):
        return _of_host_plan(source)
    return task.space


@lru_cache(maxsize=256)
def _of_launch_plan(source: str) -> TunableSpace:
    return parse_launch_plan(source).space


@lru_cache(maxsize=256)
def _of_host_plan(source: str) -> TunableSpace:
    return parse_host_plan(source).space
