"""What passes between the search and its caller: moves out, outcomes in. No kernel anywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

MOST = 1000.0
"""No reward comes near it: the baseline's time is at most some millions of the least time, and the
speed of light at least 1.05 times its speed."""
MoveKind = Literal["improve", "repair", "diversify"]
OutcomeKind = Literal["measured", "failed"]


@dataclass(frozen=True, slots=True)
class Move:
    """What the search wants from this node: improve what works, repair what failed, or leave what
    no longer improves for a structurally different approach.

    `ordinal` counts the parent's earlier children, so that the first try can be told from the
    seventh. `far` asks for several changes at once: what is promising together, not one step. To
    `diversify` far is to look for that in the whole space, not around this node.
    """

    kind: MoveKind
    ordinal: int
    far: bool = False


@dataclass(frozen=True, slots=True)
class Trial:
    """One question to the world: a new child of node `parent`. `seed` is fresh per trial."""

    id: int
    parent: int
    move: Move
    seed: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer: a reward for what was measured, 0 for what failed.

    A reward of 1 is what was thought possible when the run began; it may be more.

    `prior` in (0, 1] is the proposer's expectation. A node that is not `expandable` gets no
    children: it stands elsewhere in the tree, or holds no code at all. `near_peak` says that next
    to nothing is left to gain beyond it; what follows from that is for the search to say.
    """

    kind: OutcomeKind
    reward: float = 0.0
    prior: float = 0.5
    expandable: bool = True
    near_peak: bool = False

    def __post_init__(self) -> None:
        if not 0.0 <= self.reward < MOST:
            raise ValueError(f"a reward lies in [0, {MOST:g}), not {self.reward!r}")
        if self.kind == "failed" and self.reward != 0.0:
            raise ValueError("a failed trial has the reward 0")
        if not 0.0 < self.prior <= 1.0:
            raise ValueError(f"a prior lies in (0, 1], not {self.prior!r}")
