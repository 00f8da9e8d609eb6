"""Cost of reading the bundled recordings: ``python tests/benchmarks/bench_recordings.py [ROUNDS]``.

Prints, for each recording, its variants, its size and the median and least CPU time of reading it
whole. It asserts nothing: machines are noisy. What to look for is that the time of a variant is the
same for large recordings and small ones.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from experiments.runs.tasks.files import bundled, find_task
from profilers.recordings.t4 import load_recording


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    print(f"{'task':>18} {'variants':>9} {'KB':>6} {'median, ms':>11} {'least, ms':>10}")
    folder = Path(tempfile.mkdtemp(prefix="rooftree-"))
    for name in bundled():
        path = find_task(name).recordings[-1]
        seconds: list[float] = []
        count = 0
        for _ in range(rounds):
            copy = shutil.copyfile(path, folder / path.name)
            os.utime(copy)  # a file that stays as it was is parsed once
            begin = time.process_time()
            count = len(load_recording(copy).configurations)
            seconds.append(time.process_time() - begin)
        size = path.stat().st_size / 1e3
        median, least = 1e3 * statistics.median(seconds), 1e3 * min(seconds)
        copy.unlink()
        print(f"{name:>18} {count:>9} {size:>6.0f} {median:>11.0f} {least:>10.0f}")
    folder.rmdir()


if __name__ == "__main__":
    main()
