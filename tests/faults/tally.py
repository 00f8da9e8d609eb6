"""What was tried, and what did not hold."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol


class Attack(Protocol):
    """A kind of attack. `strike` tries it once, or a few times, and tells the tally."""

    name: str

    def strike(self, tally: Tally) -> None: ...


@dataclass
class Tally:
    """Tries by kind, and each violation with what is needed to see it again."""

    tries: Counter[str] = field(default_factory=Counter)
    broken: list[tuple[str, str]] = field(default_factory=list)

    def tried(self, kind: str, count: int = 1) -> None:
        self.tries[kind] += count

    def violated(self, kind: str, what: str) -> None:
        self.broken.append((kind, what))

    def add(self, other: Tally) -> None:
        self.tries += other.tries
        self.broken += other.broken

    def table(self) -> str:
        failed = Counter(kind for kind, _ in self.broken)
        width = max(map(len, self.tries), default=0)
        lines = [f"{'attack':<{width}}  {'tries':>7}  violations"]
        lines += [
            f"{kind:<{width}}  {count:>7}  {failed[kind]}" for kind, count in self.tries.items()
        ]
        return "\n".join(lines)
