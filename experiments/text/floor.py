"""How far a variant is from the least time that the device allows for its task's least work."""

from __future__ import annotations

from mcts.domain import Roofline
from mcts.journal.record import NodeRecord

_AT_THE_FLOOR = 1.02
_CLEARLY_BELOW = 1.01


def floor_text(node: NodeRecord, roofline: Roofline) -> str:
    """The node's time against its roofline's floor, in a sentence."""
    timing = node.verdict.timing if node.verdict else None
    floor = roofline.speed_of_light_us
    if floor is None or timing is None:
        return "The task declares no least work, or the ceilings are not known: there is no floor."
    time_us = timing.heaviest.median_us
    share = f"{time_us:,.2f} us against a floor of {floor:,.2f} us"
    if roofline.beaten_by is not None:
        return (
            f"It beats the floor that the task's least work sets over this GPU's measured ceilings "
            f"by {floor / time_us:.2f}x ({share}): it does less work than the task declares, so "
            "how much is left is not known."
        )
    if time_us < floor / _CLEARLY_BELOW:
        return (
            f"It is {100 * (1 - time_us / floor):.1f} % below the floor that the task's least work "
            f"sets over this GPU's measured ceilings ({share}): some of the least traffic stays in "
            "the L2, or the ceilings are a little too low. What is left, if anything, is less than "
            "they can tell."
        )
    if time_us <= _AT_THE_FLOOR * floor:
        return (
            f"It is at the floor that the task's least work sets over this GPU's measured ceilings "
            f"({share}): by this model nothing is left."
        )
    return (
        f"By the task's least work over this GPU's measured ceilings, at most "
        f"{time_us / floor:.2f}x is left ({share})."
    )
