"""Profiles kept in a file, so that a kernel can be inspected again without a GPU.

One JSON object, gzipped if the name ends in .gz: format, device, date, and per kernel the hash of
source and tunables, its time and its profile. Rooflines are not stored but computed on reading, so
that a better classifier also applies to old recordings.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mcts.domain import Candidate, Hardware, Metric, Profile, Scalar, Work, first_problem
from mcts.errors import InputError
from mcts.files import write_whole
from profilers.profiles.inspecting import Inspected
from profilers.recordings.packed import read_unpacked
from profilers.roofline import classify

FORMAT = "rooftree-profiles-1"
MOST_BYTES = 256 * 2**20
_DIGITS = 6


def profile_key(source: str, tunables: Mapping[str, Scalar]) -> str:
    """The key of a profile: a hash of source and tunables."""
    return Candidate(source=source, tunables=dict(tunables)).id


@dataclass(slots=True)
class ProfileRecording:
    """Profiles by kernel, all measured on the same device."""

    hardware: Hardware | None = None
    recorded_on: str = ""
    entries: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> ProfileRecording:
        """Read a recording. InputError if the file is not one."""
        data = _read(path)
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise InputError(f"{path} is no recording of profiles (format {FORMAT})")
        try:
            hardware = Hardware.model_validate(data["hardware"])
            entries = {str(key): dict(value) for key, value in data["profiles"].items()}
            return cls(hardware, str(data["recorded_on"]), entries)
        except ValidationError as error:
            raise InputError(f"{path} is damaged: {first_problem(error)}") from None
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise InputError(f"{path} is damaged: {error!r}"[:300]) from None

    def find(self, source: str, tunables: Mapping[str, Scalar]) -> Inspected | None:
        """The profile recorded for exactly this source with these tunables, or None."""
        entry = self.entries.get(profile_key(source, tunables))
        if entry is None:
            return None
        try:
            profile = Profile.model_validate({**entry["profile"], "hardware": self.hardware})
            work = Work.model_validate(entry["work"]) if entry.get("work") else None
        except ValidationError as error:
            raise InputError(f"the recording is damaged: {first_problem(error)}") from None
        except (KeyError, TypeError) as error:
            raise InputError(f"the recording is damaged: {error!r}") from None
        time_us = entry.get("time_us")
        roofline = classify(work=work, profile=profile, time_us=time_us)
        profile = profile.model_copy(update={"roofline": roofline})
        return Inspected(profile, time_us, work, self.recorded_on)

    def put(self, source: str, tunables: Mapping[str, Scalar], inspected: Inspected) -> None:
        """Add a profile. InputError if it was measured on another device than the rest."""
        profile = inspected.profile
        if self.hardware is None:
            self.hardware = profile.hardware
            self.recorded_on = datetime.now(UTC).date().isoformat()
        elif profile.hardware is not None and profile.hardware.name != self.hardware.name:
            raise InputError(
                f"the recording is of {self.hardware.name}, this profile of "
                f"{profile.hardware.name}: keep it in a file of its own"
            )
        kernels = tuple(
            kernel.model_copy(update={"metrics": _rounded(kernel.metrics)})
            for kernel in profile.kernels
        )
        bare = profile.model_copy(update={"kernels": kernels, "roofline": None, "hardware": None})
        entry: dict[str, Any] = {"profile": bare.model_dump(mode="json", exclude_defaults=True)}
        if inspected.time_us is not None:
            entry["time_us"] = _significant(inspected.time_us)
        if inspected.work is not None:
            entry["work"] = inspected.work.model_dump(mode="json")
        self.entries[profile_key(source, tunables)] = entry

    def save(self, path: Path) -> None:
        """Write the recording atomically. InputError if it is empty."""
        if self.hardware is None:
            raise InputError("nothing was measured that could be recorded")
        text = json.dumps(
            {
                "format": FORMAT,
                "recorded_on": self.recorded_on,
                "hardware": self.hardware.model_dump(mode="json", exclude_none=True),
                "profiles": dict(sorted(self.entries.items())),
            },
            separators=(",", ":"),
        )
        content = text.encode()
        if path.suffix == ".gz":
            content = gzip.compress(content, mtime=0)
        write_whole(path, content)


def _read(path: Path) -> Any:
    try:
        return json.loads(read_unpacked(path, most=MOST_BYTES))
    except (ValueError, RecursionError):
        raise InputError(f"{path} is no recording: neither JSON nor gzipped JSON") from None


def _rounded(metrics: Mapping[str, Metric]) -> dict[str, Metric]:
    return {
        name: Metric(value=_significant(metric.value), unit=metric.unit)
        for name, metric in metrics.items()
    }


def _significant(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
