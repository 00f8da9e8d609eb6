"""What `optimize` was asked to do, before any `auto` is decided."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from mcts.options import JudgingOptions, Limits, ModelOptions, SearchOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """The options of `optimize`, `auto` not yet decided. `out` is the run folder, None for the next
    free one.
    """

    task: str
    judging: JudgingOptions = field(default_factory=JudgingOptions)
    search: SearchOptions = field(default_factory=SearchOptions)
    model: ModelOptions = field(default_factory=ModelOptions)
    limits: Limits = field(default_factory=Limits)
    out: Path | None = None
    as_json: bool = False
