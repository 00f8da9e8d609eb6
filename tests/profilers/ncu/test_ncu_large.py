"""Reports of 100 MB: read in seconds and in little memory, whatever they hold."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from profilers.ncu.report import MOST_LAUNCHES

DATA = Path(__file__).parents[2] / "data" / "ncu"
SIZE = 100_000_000
SECONDS = 60.0
"""Far more than it takes, for machines that are busy with other things."""
MEGABYTES = 250.0
_READ = """
import re, sys, time
from pathlib import Path
from mcts.errors import InputError
from profilers.ncu import read_report
start = time.monotonic()
try:
    report = read_report(Path(sys.argv[1]))
    print(len(report.kernels), report.missing)
except InputError as error:
    print("error", error)
# Not getrusage: what a process reports there begins with what its parent held when it forked.
peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
print(time.monotonic() - start, int(peak[1]) / 1024)
"""
HEAD, UNITS, ROW = [
    line for line in (DATA / "three_kernels.csv").read_text().splitlines() if line[:1] == '"'
][:3]
DETAILS = [line for line in (DATA / "details.csv").read_text().splitlines() if line[:1] == '"']


def one_line() -> Iterator[str]:
    yield f'{HEAD}\n{UNITS}\n"0",'
    yield from ('"12,345",' * 10_000 for _ in range(SIZE // 90_000))


def chatter() -> Iterator[str]:
    yield f"{HEAD}\n{UNITS}\n"
    lines = 'step 12, loss 0.123, "a note"\n==PROF== Profiling "saxpy": 50%\n\n' * 1_000
    yield from (lines for _ in range(SIZE // len(lines)))
    yield ROW + "\n"


def launches() -> Iterator[str]:
    yield f"{HEAD}\n{UNITS}\n"
    rest = ROW.partition(",")[2]
    yield from (f'"{number}",{rest}\n' for number in range(SIZE // len(ROW)))


def details() -> Iterator[str]:
    yield DETAILS[0] + "\n"
    rows = "\n".join(DETAILS[1:]) + "\n"
    yield from (rows for _ in range(SIZE // len(rows)))


def open_quotes() -> Iterator[str]:
    yield f"{HEAD}\n{UNITS}\n"
    yield from ('"0","597","sax\n' * 10_000 for _ in range(SIZE // 150_000))


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        (one_line, "error"),
        (chatter, "1 "),
        (launches, f"{MOST_LAUNCHES} "),
        (details, "3 "),
        (open_quotes, "error"),
    ],
)
def test_a_large_report_is_read_soon_and_in_little_memory(
    shape: type[Iterator[str]], said: str, tmp_path: Path
) -> None:
    path = tmp_path / "big.csv"
    with path.open("w") as file:
        file.writelines(shape())
    assert path.stat().st_size > 0.9 * SIZE
    done = subprocess.run(
        [sys.executable, "-c", _READ, str(path)], cwd=Path(__file__).parents[3],
        capture_output=True, text=True, timeout=SECONDS, check=True,
    )  # fmt: skip
    path.unlink()
    told, used = done.stdout.splitlines()
    assert told.startswith(said)
    assert float(used.split()[1]) < MEGABYTES
