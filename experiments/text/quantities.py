"""Quantities as terminals, reports and closing words write them: durations, energy, timings."""

from __future__ import annotations

from collections.abc import Sequence

from mcts.domain import Energy, Timing

_BARS = "▁▂▃▄▅▆▇█"


def clock(seconds: float) -> str:
    """``42 s``, ``3 min 05 s``, ``2 h 07 min``."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def p_text(p: float) -> str:
    """A p-value: ``0.012``, ``3e-05``, ``<1e-20``."""
    if p >= 0.001:
        return f"{p:.3f}"
    return f"{p:.0e}" if p >= 1e-20 else "<1e-20"


def energy_text(energy: Energy) -> str:
    """``12.3 mJ per call (12.1 to 12.5) above 80 W idle, the baseline's 20.1 mJ, 0.612 of it
    (0.61 to 0.615), at 31.2 us a call under load and the board's limit of 700 W``, and after a
    semicolon what the sensor could not resolve."""
    text = f"{energy.energy_mj:.4g} mJ per call ({energy.low_mj:.4g} to {energy.high_mj:.4g})"
    if energy.idle_w is not None:
        text += f" above {energy.idle_w:.0f} W idle"
    if energy.baseline_mj is not None:
        share = energy.energy_mj / energy.baseline_mj
        text += f", the baseline's {energy.baseline_mj:.4g} mJ, {share:.3g} of it"
        if energy.ratio_low is not None and energy.ratio_high is not None:
            text += f" ({energy.ratio_low:.3g} to {energy.ratio_high:.3g})"
    if energy.call_us is not None:
        text += f", at {energy.call_us:.4g} us a call under load"
    if energy.at_limit:
        text += f" and the board's limit of {energy.limit_w:.0f} W"
    return text + (f"; {energy.limits}" if energy.limits else "")


def resolution_words(detectable: float) -> str:
    return f"smallest difference this run can resolve: {100 * detectable:.2f} %"


def shape_lines(timing: Timing) -> list[str]:
    """``main (weight 0.75): 40.1 us, 1.203x (1.201 to 1.205)``, and where it is slower than was."""
    return [
        f"{shape.workload} (weight {shape.weight:.3g}): {shape.median_us:.2f} us, "
        f"{shape.speedup:.3f}x ({shape.speedup_low:.3f} to {shape.speedup_high:.3f})"
        + (", slower than the baseline" if shape.regressed else "")
        for shape in timing.shapes
    ]


def sparkline(values: Sequence[float], width: int) -> str:
    """`values` as bars from the least to the greatest, thinned to `width` characters."""
    if len(values) > width:
        values = [values[i * (len(values) - 1) // max(1, width - 1)] for i in range(width)]
    low, high = min(values), max(values)
    span = high - low
    return "".join(_BARS[round((v - low) / span * 7) if span > 0 else 0] for v in values)
