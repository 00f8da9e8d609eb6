"""What may be said of judging in any dialect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeOptions:
    """How a live evaluator judges; a dialect to which one means nothing ignores or refuses it.

    device: the GPU's ordinal. compiled: `torch.compile` is the baseline. ungated: a task that fails
    its gate is marked, not refused. unsafe: candidates run even where nothing isolates them.
    includes: folders of headers. readable: folders that candidates may read, because they import
    from there. on_progress: takes a line about what is being prepared.
    """

    device: int = 0
    compiled: bool = False
    ungated: bool = False
    unsafe: bool = False
    includes: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    on_progress: Callable[[str], None] | None = None
