"""The draws that the oracle keeps, and right answers of the past that a cheat would give again.

An output that is right for other inputs, or for weights as they were, was remembered: so what was
expected is kept beyond its use, where that is small.
"""

from __future__ import annotations

from collections.abc import Iterable

from profilers.children.protocol import RequestRefused
from profilers.kernelbench.oracle.draws import Draw

_SMALL = 256 * 2**20


class KeptDraws:
    """Draws by the names that the judge gives them, and the last that it let go of, if small."""

    def __init__(self) -> None:
        self._draws: dict[str, Draw] = {}
        self._forgotten: Draw | None = None

    def __getitem__(self, name: str) -> Draw:
        """Refusal "internal" where there is none."""
        if name not in self._draws:
            raise RequestRefused("internal", f"there is no draw {name!r}")
        return self._draws[name]

    def __setitem__(self, name: str, draw: Draw) -> None:
        self._draws[name] = draw

    @property
    def bytes(self) -> int:
        """Bytes of the draws that have a name."""
        return sum(draw.bytes for draw in self._draws.values())

    def others(self, draw: Draw) -> list[Draw]:
        """All draws but this one whose right outputs are known, or may be."""
        return [other for other in self._known() if other is not draw]

    def outdate(self) -> None:
        """The weights have changed: what was expected is stale."""
        for draw in self._known():
            if draw.expectation is not None and draw.expectation.bytes <= _SMALL:
                draw.stale = draw.expectation
            draw.expectation = None

    def forget(self, names: Iterable[str]) -> None:
        """Let go of draws; a name without one is no error."""
        for name in names:
            draw = self._draws.pop(name, None)
            if draw is not None and draw.expectation is not None:
                small = draw.bytes + draw.expectation.bytes <= _SMALL
                self._forgotten = draw if small else None

    def _known(self) -> list[Draw]:
        return [*self._draws.values(), *([self._forgotten] if self._forgotten else [])]
