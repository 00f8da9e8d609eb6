"""Energy in a line, as tables and reports write it."""

from __future__ import annotations

from mcts.domain import Energy


def energy_text(energy: Energy) -> str:
    """A call's energy with its interval, and what it is of the baseline's."""
    text = f"{energy.energy_mj:.4g} mJ a call ({energy.low_mj:.4g} to {energy.high_mj:.4g})"
    if energy.idle_w is not None:
        text += f" above {energy.idle_w:.0f} W idle"
    if energy.baseline_mj is not None:
        text += f", {energy.energy_mj / energy.baseline_mj:.3f} of the baseline's"
    return text + (f"; {energy.limits}" if energy.limits else "")
