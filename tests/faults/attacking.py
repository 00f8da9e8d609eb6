"""All attacks, and one attacker that takes them in turn."""

from __future__ import annotations

import random
import sys
import time
import traceback
from collections.abc import Sequence

from tests.faults.clusters import ClusterKills
from tests.faults.disks import FullDisks
from tests.faults.flips import Flips
from tests.faults.fuzz import Fuzz
from tests.faults.hostile import Hostile
from tests.faults.kills import Kills, ModelKills
from tests.faults.servers import ServerKills
from tests.faults.tally import Attack, Tally

ATTACKS = {
    "fuzz": Fuzz, "kills": Kills, "model": ModelKills, "servers": ServerKills,
    "clusters": ClusterKills, "disks": FullDisks, "flips": Flips,
    "hostile": Hostile,
}  # fmt: skip


def attack(names: Sequence[str], seconds: float, seed: int) -> Tally:
    """What came of it; each of the attacks has its share of the time."""
    rng = random.Random(seed)
    attacks: list[Attack] = [ATTACKS[name](random.Random(rng.getrandbits(64))) for name in names]
    end, tally = time.monotonic() + seconds, Tally()
    spent = dict.fromkeys(attacks, 0.0)
    while attacks and time.monotonic() < end:
        next_one = min(attacks, key=lambda one: spent[one])
        start = time.monotonic()
        known = len(tally.broken)
        try:
            next_one.strike(tally)
        except Exception:  # noqa: BLE001  the others go on
            tally.violated(next_one.name, f"it could not be made: {traceback.format_exc()}")
            attacks.remove(next_one)
        spent[next_one] += time.monotonic() - start
        for kind, what in tally.broken[known:]:
            print(f"{kind}: {what}", file=sys.stderr, flush=True)
    return tally
