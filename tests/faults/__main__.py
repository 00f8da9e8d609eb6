"""``python -m tests.faults --minutes 20``: every attack in turn until the time is over."""

from __future__ import annotations

import argparse
import functools
import random
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from tests.faults.attacking import ATTACKS, attack
from tests.faults.tally import Tally


def main() -> int:
    """The exit code: 1 if anything did not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(31))
    parser.add_argument("--only", default=",".join(ATTACKS), help="of " + ", ".join(ATTACKS))
    parser.add_argument("--jobs", type=int, default=1, help="attackers side by side")
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    rng = random.Random(given.seed)
    seeds = [rng.getrandbits(64) for _ in range(given.jobs)]
    attacking = functools.partial(attack, given.only.split(","), 60 * given.minutes)
    tally = Tally()
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn")) as pool:
        for part in pool.map(attacking, seeds):
            tally.add(part)
    print(tally.table())
    return 1 if tally.broken else 0


if __name__ == "__main__":
    sys.exit(main())
