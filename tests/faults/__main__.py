"""``python -m tests.faults --minutes 20``: every attack in turn until the time is over."""

from __future__ import annotations

import argparse
import random
import sys
import time

from tests.faults.disks import FullDisks
from tests.faults.flips import Flips
from tests.faults.fuzz import Fuzz
from tests.faults.kills import Kills, ModelKills
from tests.faults.tally import Attack, Tally

ATTACKS = {"fuzz": Fuzz, "kills": Kills, "model": ModelKills, "disks": FullDisks, "flips": Flips}


def main() -> int:
    """The exit code: 1 if anything did not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(31))
    parser.add_argument("--only", default=",".join(ATTACKS), help="of " + ", ".join(ATTACKS))
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    rng = random.Random(given.seed)
    attacks: list[Attack] = [
        ATTACKS[name](random.Random(rng.getrandbits(64))) for name in given.only.split(",")
    ]
    end, tally = time.monotonic() + 60 * given.minutes, Tally()
    seconds = dict.fromkeys(attacks, 0.0)
    while time.monotonic() < end:
        attack = min(attacks, key=lambda one: seconds[one])  # each has its share of the time
        start = time.monotonic()
        known = len(tally.broken)
        attack.strike(tally)
        seconds[attack] += time.monotonic() - start
        for kind, what in tally.broken[known:]:
            print(f"{kind}: {what}", file=sys.stderr, flush=True)
    print(tally.table())
    return 1 if tally.broken else 0


if __name__ == "__main__":
    sys.exit(main())
