"""The view of a run while it goes."""

from experiments.live.display import Display, progress_display
from experiments.live.panel import Panel
from experiments.live.plain import PLAIN_INTERVAL_S, PlainLines
from experiments.text.quantities import clock, sparkline

__all__ = [
    "PLAIN_INTERVAL_S",
    "Display",
    "Panel",
    "PlainLines",
    "clock",
    "progress_display",
    "sparkline",
]
