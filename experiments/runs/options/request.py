"""What `optimize` was asked to do, before any `auto` is decided."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

from experiments.runs.options.asking import Asking
from mcts.domain import Dialect, Policy
from mcts.errors import InputError

OFF = Path("off")
"""As a memory: none is read, none is taught."""
AUTO = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measuring:
    """How a live evaluator judges, beyond its defaults.

    policy: what a KernelBench candidate may do. compiled: `torch.compile` is the baseline.
    ungated: a task that fails its gate is marked, not refused. unsafe: candidates run even where
    nothing isolates them. dialect: what is written for a problem file, None for PyTorch.
    includes: folders of headers for `host` candidates. kernel: one of these to begin with.
    """

    policy: Policy = field(default_factory=Policy)
    compiled: bool = False
    ungated: bool = False
    unsafe: bool = False
    dialect: Dialect | None = None
    includes: tuple[Path, ...] = ()
    kernel: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """The options of `optimize`, `auto` not yet decided."""

    task: str
    evaluator: str = AUTO
    proposer: str = AUTO
    recording: Path | None = None
    model: str | None = None
    api_base: str | None = None
    library: str | None = None
    evaluations: int = 60
    minutes: float | None = None
    max_cost_usd: float | None = None
    max_tokens: int | None = None
    max_gpu_minutes: float | None = None
    asking: Asking = field(default_factory=Asking)
    seed: int = 0
    parallel: int = 1
    device: int = 0
    search: str = "puct"
    search_settings: dict[str, int | float] = field(default_factory=dict)
    memory: Path | None = None
    objective: str = "time"
    finalists: int = 3
    wait_minutes: float | None = None
    measuring: Measuring = field(default_factory=Measuring)
    out: Path | None = None
    as_json: bool = False


def split_search(given: list[str]) -> tuple[str, list[str]]:
    """The name of the search, `puct` where none is given, and its constants.

    InputError for two names.
    """
    names = [text for text in given if "=" not in text]
    if len(names) > 1:
        raise InputError(f"--search {names[0]} and --search {names[1]}: one search at a time")
    return (names[0] if names else "puct"), [text for text in given if "=" in text]


def parse_settings(pairs: list[str]) -> dict[str, int | float]:
    """``NAME=NUMBER`` options as a table. InputError for one that is not."""
    settings: dict[str, int | float] = {}
    for pair in pairs:
        name, _, text = pair.partition("=")
        try:
            value: int | float = int(text) if text.lstrip("+-").isdigit() else float(text)
        except ValueError:
            value = math.nan
        if not name or not math.isfinite(value):
            raise InputError(f"--search {pair!r}: write NAME=NUMBER")
        settings[name] = value
    return settings
