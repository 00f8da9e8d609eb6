"""ncu's messages beside its tables: refusals, unknown metrics, kernels it did not find."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from mcts.text import replace_unseen
from profilers.children.supervised import last_lines

_LONGEST = 200
_ERROR = "==ERROR=="
_NOTE = "=="
_PROGRAM = re.compile(r"\bapplication\b", re.IGNORECASE)
"""In an error that is about the program: ``The application returned an error code (1)``."""
_DENIED = re.compile(r"Unable to access the following \d+ metrics?: *(.*)")
_AVAILABLE = re.compile(r"Available Kernels:\s*((?:\s*\d+\. .+\n?)+)")
_MOST_NAMED = 8


def refusal(messages: Iterable[str], *, printed: str = "") -> str | None:
    """Why a run yields no counters, in one sentence; None if ncu reports no error.

    If ncu says that the program ended badly, the last line that the program `printed` is added.
    """
    errors = [text for text in messages if _ERROR in text or "ERR_NVGPUCTRPERM" in text]
    if any("ERR_NVGPUCTRPERM" in text for text in errors):
        return (
            "the driver refuses hardware counters to this user (ERR_NVGPUCTRPERM); "
            "run as root or load the driver with NVreg_RestrictProfilingToAdminUsers=0"
        )
    if not errors:
        return None
    program = any(_PROGRAM.search(text) for text in errors)
    said = _last_line(printed) if program else ""
    return f"ncu says: {_words(errors[0])}" + (f" The program says: {said}" if said else "")


def _last_line(printed: str) -> str:
    """The last line in `printed` that is not a message of ncu's; empty if there is none."""
    lines = (line for line in printed.splitlines() if not line.startswith(_NOTE))
    return replace_unseen(last_lines("\n".join(lines), 1), lambda _char: "?")


def unknown_metrics(messages: Iterable[str], metrics: Sequence[str]) -> dict[str, str]:
    """Those of `metrics` for which ncu refused the whole run, with its message.

    It says "Failed to find metric NAME", where NAME may be ``regex:^NAME(\\.(sum|avg|...))$``.
    """
    unknown = {}
    for text in messages:
        if _ERROR not in text or "metric" not in text.lower():
            continue
        plain = text.replace("\\", "")
        for name in metrics:
            if re.search(rf"(?<![\w.]){re.escape(name)}(?!\w|\.\w)", plain):
                unknown[name] = f"ncu says: {_words(text)}"
    return unknown


def denied_metrics(messages: Iterable[str]) -> frozenset[str]:
    """Metrics that ncu reports it cannot access on this device."""
    lists = [found[1] for text in messages if (found := _DENIED.search(text))]
    return frozenset(name.strip(" .") for text in lists for name in text.split(","))


def no_kernel_profiled(log: str) -> str | None:
    """Why nothing was profiled, with the kernels that the program launched if ncu lists them."""
    if found := _AVAILABLE.search(log):
        names = re.findall(r"\d+\. (.+)", found[1])[:_MOST_NAMED]
        return f"none of the kernels asked for was launched, but {', '.join(names)}"
    return "ncu profiled no kernel" if "No kernels were profiled" in log else None


def _words(text: str) -> str:
    return text.rpartition(_ERROR)[2].strip()[:_LONGEST]
