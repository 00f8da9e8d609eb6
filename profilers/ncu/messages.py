"""What ncu says in words, beside its tables: refusals, unknown metrics, kernels it did not find."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_LONGEST = 200
_ERROR = "==ERROR=="
_DENIED = re.compile(r"Unable to access the following \d+ metrics?: *(.*)")
_AVAILABLE = re.compile(r"Available Kernels:\s*((?:\s*\d+\. .+\n?)+)")
_MOST_NAMED = 8


def refusal(said: Iterable[str]) -> str | None:
    """Why a run yields no counters, as one sentence; None where ncu reports no error."""
    errors = [text for text in said if _ERROR in text or "ERR_NVGPUCTRPERM" in text]
    if any("ERR_NVGPUCTRPERM" in text for text in errors):
        return (
            "the driver refuses hardware counters to this user (ERR_NVGPUCTRPERM); "
            "run as root or load the driver with NVreg_RestrictProfilingToAdminUsers=0"
        )
    return f"ncu says: {_words(errors[0])}" if errors else None


def unknown_metrics(said: Iterable[str], metrics: Sequence[str]) -> dict[str, str]:
    """Those of `metrics` for which ncu refused the whole run, with its words.

    It says "Failed to find metric NAME", where NAME may be ``regex:^NAME(\\.(sum|avg|...))$``.
    """
    unknown = {}
    for text in said:
        if _ERROR not in text or "metric" not in text.lower():
            continue
        plain = text.replace("\\", "")
        for name in metrics:
            if re.search(rf"(?<![\w.]){re.escape(name)}(?!\w|\.\w)", plain):
                unknown[name] = f"ncu says: {_words(text)}"
    return unknown


def denied_metrics(said: Iterable[str]) -> frozenset[str]:
    """Metrics that ncu says it cannot access on this device."""
    lists = [found[1] for text in said if (found := _DENIED.search(text))]
    return frozenset(name.strip(" .") for text in lists for name in text.split(","))


def nothing_profiled(log: str) -> str | None:
    """What the program launches instead of what was asked for, where ncu lists it."""
    if found := _AVAILABLE.search(log):
        names = re.findall(r"\d+\. (.+)", found[1])[:_MOST_NAMED]
        return f"none of the kernels asked for was launched, but {', '.join(names)}"
    return "ncu profiled no kernel" if "No kernels were profiled" in log else None


def _words(text: str) -> str:
    return text.rpartition(_ERROR)[2].strip()[:_LONGEST]
