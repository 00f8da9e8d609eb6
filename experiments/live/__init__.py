"""The view of a run while it goes."""

from experiments.live.display import Display, progress_display
from experiments.live.panel import Panel
from experiments.live.plain import PlainLines

__all__ = [
    "Display",
    "Panel",
    "PlainLines",
    "progress_display",
]
