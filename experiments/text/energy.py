"""Energy in a line, as tables, closing words and reports write it."""

from __future__ import annotations

from mcts.domain import Energy


def energy_text(energy: Energy) -> str:
    """``12.3 mJ per call (12.1 to 12.5) above 80 W idle, the baseline's 20.1 mJ, 0.61 of it``,
    and after a semicolon what the sensor could not resolve."""
    text = f"{energy.energy_mj:.4g} mJ per call ({energy.low_mj:.4g} to {energy.high_mj:.4g})"
    if energy.idle_w is not None:
        text += f" above {energy.idle_w:.0f} W idle"
    if energy.baseline_mj is not None:
        share = energy.energy_mj / energy.baseline_mj
        text += f", the baseline's {energy.baseline_mj:.4g} mJ, {share:.2f} of it"
    return text + (f"; {energy.limits}" if energy.limits else "")
