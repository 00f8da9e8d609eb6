"""Profiles that a real H200 made: the bundled recordings, and three kernels seen by ncu."""

from __future__ import annotations

import csv
from functools import lru_cache
from pathlib import Path

from experiments.runs.tasks.files import find_task
from mcts.domain import KernelProfile, Metric, Profile, Work
from mcts.domain import metrics as m
from profilers.recordings.recording import RecordedConfiguration, Recording
from profilers.recordings.t4 import load_recording

REPORT = Path(__file__).parents[1] / "data" / "ncu" / "three_kernels.csv"
_NAMES = {value for value in vars(m).values() if isinstance(value, str)}


@lru_cache(maxsize=1)
def three_kernels() -> dict[str, KernelProfile]:
    """A saxpy, the same with a stride of 33, and a naive matrix product of 2048 cubed."""
    lines = REPORT.read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith('"ID"'))
    header, _units, *rows = csv.reader(lines[start:])
    found = {}
    for row in rows:
        if len(row) != len(header):
            continue
        fields = dict(zip(header, row, strict=True))
        name = fields["Kernel Name"].partition("(")[0]
        metrics = {
            key: Metric(value=float(text.replace(",", "")))
            for key, text in fields.items()
            if key in _NAMES and text
        }
        found[name] = KernelProfile(name=name, metrics=metrics)
    return found


@lru_cache(maxsize=3)
def recording(task: str) -> tuple[Recording, Work | None]:
    source = find_task(task)
    return load_recording(source.recordings[-1]), Work.of(source.task)


def median_us(entry: RecordedConfiguration) -> float:
    return sorted(entry.runtimes_us)[len(entry.runtimes_us) // 2]


@lru_cache(maxsize=3)
def fastest_first(task: str) -> list[tuple[float, Profile]]:
    """Every measured variant: its time over the best one's, and its profile without a class."""
    entries, _ = recording(task)
    measured = sorted((e for e in entries.configurations if e.measured), key=median_us)
    best = median_us(measured[0])
    return [(median_us(entry) / best, _profile(entry, entries)) for entry in measured]


def _profile(entry: RecordedConfiguration, recording: Recording) -> Profile:
    kernels = tuple(
        KernelProfile(name=name, metrics=metrics, sass=entry.sass.get(name))
        for name, metrics in entry.metrics.items()
    )
    return Profile(kernels=kernels, hardware=recording.hardware)
