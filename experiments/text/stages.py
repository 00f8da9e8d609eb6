"""What a trial is at, and where the time of a run went, in words."""

from __future__ import annotations

from collections.abc import Mapping

from experiments.text.nodes import fit
from experiments.text.quantities import clock
from mcts.journal.stages import CONFIRMING, JUDGING, PROPOSING

_WORDS: Mapping[str, str] = {
    PROPOSING: "proposing",
    "waiting": "waiting for the GPU",
    "compiling": "compiling",
    "verifying": "verifying",
    "timing": "timing",
    "metering": "measuring energy",
    "profiling": "profiling",
    JUDGING: "judging",
    CONFIRMING: "confirming finalists",
}
_WORD = 40
_BETWEEN = 0.05
"""Part of a run from which on what lies between trials is told: briefing, choosing, waiting."""
_LEAST_S = 1.0
"""Seconds in all from which on it is worth saying where they went."""


def stage_words(stage: str) -> str:
    """``waiting for the GPU``; what another version wrote is told as it is."""
    return _WORDS.get(stage) or fit(stage, _WORD)


def shares(stages: Mapping[str, float]) -> list[tuple[str, float]]:
    """Stages with their part of the time of all trials, the greatest first; together 1.

    Empty if there is nothing to tell apart: hardly any time, or only that it was spent judging.
    """
    total = sum(stages.values())
    if total < _LEAST_S or set(stages) <= {JUDGING}:
        return []
    parts = [(stage, seconds / total) for stage, seconds in stages.items() if seconds > 0]
    return sorted(parts, key=lambda part: (-part[1], part[0]))


def shares_text(stages: Mapping[str, float]) -> str:
    """``62 % timing, 37 % proposing``, the greatest first; empty if there is nothing to tell."""
    return ", ".join(f"{percent(share)} {stage_words(stage)}" for stage, share in shares(stages))


def percent(share: float) -> str:
    """``62 %``; what rounds to nothing is ``under 1 %``."""
    return f"{share:.0%}".replace("%", " %") if share >= 0.005 else "under 1 %"


def time_text(stages: Mapping[str, float], elapsed_s: float) -> str:
    """The shares, what they are shares of, and what of `elapsed_s` no trial can have taken.

    Empty if there is nothing to tell.
    """
    total = sum(stages.values())
    between = elapsed_s - total
    more = f"; {clock(between)} more between trials" if between > _BETWEEN * elapsed_s else ""
    said = shares_text(stages)
    return f"{said} (of the {clock(total)} of all trials{more})" if said else ""
