"""From beliefs to one opinion per act, so that what looks best is not all that is ever tried."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Literal

from mcts.knowledge.belief import Belief
from mcts.knowledge.moves import Act

Sampling = Literal["thompson", "top_k", "mean"]
SAMPLINGS: tuple[Sampling, ...] = ("thompson", "top_k", "mean")
TOP = 4


def sampled(
    beliefs: Mapping[Act, Belief], rng: random.Random, *, how: Sampling = "thompson", top: int = TOP
) -> dict[Act, float]:
    """A log gain for each act; the same for the same beliefs and seed, in whatever order they come.

    thompson: a draw from each belief: what is little known is sometimes overrated, and so tried.
    top_k: `top` acts chosen by chance, likelier the more they are expected to gain, count as what
    is expected of them; of the others only what is expected to lose does (KernelBlaster's weighted
    choice). mean: what is expected, with no chance in it.
    """
    order = sorted(beliefs)
    if how == "thompson":
        return {act: beliefs[act].draw(rng) for act in order}
    means = {act: beliefs[act].mean for act in order}
    if how == "mean":
        return means
    chosen = set(weighted_choice({act: math.exp(mean) for act, mean in means.items()}, rng, top))
    return {act: mean if act in chosen else min(0.0, mean) for act, mean in means.items()}


def weighted_choice(weights: Mapping[Act, float], rng: random.Random, count: int) -> list[Act]:
    """`count` acts without replacement, each with odds in proportion to its weight, > 0.

    The greatest of u ** (1 / weight), u uniform (Efraimidis and Spirakis, Weighted Random Sampling
    with a Reservoir, Information Processing Letters 97, 2006).
    """
    keys = {act: math.log(1.0 - rng.random()) / weights[act] for act in sorted(weights)}
    return sorted(keys, key=lambda act: -keys[act])[:count]
