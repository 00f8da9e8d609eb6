"""A recording: what a device measured for each configuration of a tunable space."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from mcts.domain import Configuration, Energy, Hardware, Metric, SassFacts, Status
from mcts.domain.expressions import Scalar
from mcts.domain.tunables import ConfigurationKey, configuration_key
from mcts.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedShape:
    """One of several timed workloads: its share of the weight, its times in microseconds."""

    workload: str
    weight: float
    runtimes_us: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedConfiguration:
    """One configuration's status and, if measured, its times in microseconds per call.

    `runtimes_us` are those of the heaviest workload. `shapes` has all workloads if several were
    timed; it is empty if there was one, in older recordings, and in files of other tools. `metrics`
    and `sass` are by kernel in launch order; files of other tools have neither.
    """

    configuration: dict[str, Scalar]
    status: Status
    message: str = ""
    runtimes_us: tuple[float, ...] = ()
    shapes: tuple[RecordedShape, ...] = ()
    host_us: float | None = None
    compile_seconds: float | None = None
    verification_rounds: int = 0
    max_error: float | None = None
    worst_ratio: float | None = None
    energy: Energy | None = None
    metrics: dict[str, dict[str, Metric]] = field(default_factory=dict)
    sass: dict[str, SassFacts] = field(default_factory=dict)
    launches: dict[str, int] = field(default_factory=dict)
    """Launches per call, for kernels that run more than once."""
    timestamp: str = ""

    @property
    def key(self) -> ConfigurationKey:
        return configuration_key(self.configuration)

    @property
    def measured(self) -> bool:
        return self.status == "measured"

    @property
    def time_us(self) -> float | None:
        """Median time per call, weighted over several shapes; None unless measured."""
        if not self.measured:
            return None
        if self.shapes:
            return math.fsum(
                shape.weight * statistics.median(shape.runtimes_us) for shape in self.shapes
            )
        return statistics.median(self.runtimes_us)


@dataclass(frozen=True, slots=True)
class RecordingSummary:
    """A summary of a recording; `best_speedup` is relative to the baseline's configuration."""

    valid: int
    failed: dict[str, int]
    baseline_us: float | None
    best_us: float | None
    best: dict[str, Scalar] | None

    @property
    def best_speedup(self) -> float | None:
        if self.baseline_us is None or self.best_us is None:
            return None
        return self.baseline_us / self.best_us


@dataclass(frozen=True, kw_only=True)
class Recording:
    """All measurements of one task on one device.

    `task_id` and `baseline` are None in files of other tools. `tunables` holds the values of each
    tunable in their natural order; `origin` is the name of the file, for messages.
    """

    origin: str
    hardware: Hardware
    recorded_on: str
    tunables: dict[str, tuple[Scalar, ...]]
    configurations: tuple[RecordedConfiguration, ...]
    task_name: str
    task_id: str | None = None
    source_hash: str | None = None
    baseline: dict[str, Scalar] | None = None

    @cached_property
    def by_key(self) -> dict[ConfigurationKey, RecordedConfiguration]:
        return {record.key: record for record in self.configurations}

    def find(self, configuration: Configuration) -> RecordedConfiguration | None:
        return self.by_key.get(configuration_key(configuration))

    @property
    def measured(self) -> tuple[RecordedConfiguration, ...]:
        return tuple(record for record in self.configurations if record.measured)

    def baseline_record(self) -> RecordedConfiguration:
        """The record that speedups are relative to.

        The recorded task's default configuration; if the file names none, the measured
        configuration of median time (the slower of the middle two): every file has one, it does not
        depend on the seed, and a speedup over it is one over a typical configuration. Raises
        InputError if the baseline, or anything at all, was not measured.
        """
        if self.baseline is not None:
            found = self.find(self.baseline)
            if found is None or not found.measured:
                raise InputError(f"{self.origin}: the baseline's configuration was not measured")
            return found
        if not self.measured:
            raise InputError(f"{self.origin}: no configuration was measured")
        ranked = sorted(self.measured, key=lambda record: (record.time_us or 0.0, str(record.key)))
        return ranked[len(ranked) // 2]

    def _baseline_us(self) -> float | None:
        try:
            return self.baseline_record().time_us
        except InputError:
            return None

    def summary(self) -> RecordingSummary:
        measured = self.measured
        best = min(measured, key=lambda record: record.time_us or 0.0, default=None)
        failed = Counter(r.status for r in self.configurations if not r.measured)
        return RecordingSummary(
            valid=len(measured),
            failed={str(status): count for status, count in sorted(failed.items())},
            baseline_us=self._baseline_us(),
            best_us=best.time_us if best else None,
            best=dict(best.configuration) if best else None,
        )


def natural_values(configurations: Iterable[Mapping[str, Scalar]]) -> dict[str, tuple[Scalar, ...]]:
    """The values of each tunable that occur: numbers by size, then strings in natural order."""
    seen: dict[str, dict[Scalar, None]] = {}
    for configuration in configurations:
        for name, value in configuration.items():
            seen.setdefault(name, {})[value] = None
    return {name: tuple(sorted(values, key=_natural)) for name, values in seen.items()}


def _natural(value: Scalar) -> tuple[int, int | float, list[tuple[int, int, str]]]:
    if isinstance(value, str):
        return (1, 0.0, [_part(part) for part in _split_digits(value)])
    return (0, value, [])


def _part(text: str) -> tuple[int, int, str]:
    """Numbers before words, by length and then by digits: one may be too long for `int`."""
    if not text.isdecimal():
        return (1, 0, text)
    digits = text.lstrip("0")
    return (0, len(digits), digits)


def _split_digits(text: str) -> list[str]:
    parts: list[str] = []
    for character in text:
        if parts and parts[-1][-1].isdecimal() == character.isdecimal():
            parts[-1] += character
        else:
            parts.append(character)
    return parts
