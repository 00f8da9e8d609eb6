"""Reports of Nsight Compute and Nsight Systems, made elsewhere."""

from __future__ import annotations

from experiments.inspect.kernel_profiles import distinct_kernels, timed_kernels
from experiments.inspect.results import Part, as_one_part, parts_by_kernel
from experiments.inspect.targets import Target
from experiments.runs.tasks.files import find_task
from experiments.text.words import clean
from mcts.domain import Profile, Work
from mcts.errors import InputError
from mcts.text import cut

MOST_KERNELS = 8
"""Distinct kernels of a report that are looked at, those that take longest in all."""
_MOST_TOLD = 300


def read(target: Target, *, task: str | None) -> tuple[Part, ...]:
    """Of counters a part per distinct kernel, the longest first, which is what `task` computes; of
    a timeline one for the whole run.

    Raises InputError if the report holds nothing.
    """
    if target.kind == "timeline":
        return as_one_part(_timeline(target), work=None, time_us=None)
    return parts_by_kernel(_counters(target), work=_work(task))


def _work(task: str | None) -> Work | None:
    return None if task is None else Work.of(find_task(task).task)


def _counters(target: Target) -> Profile:
    from profilers.ncu import TOOL, read_report

    report = read_report(target.path)
    if not report.kernels:
        raise _nothing(target, report.missing.get(TOOL, "it holds no kernel"))
    kernels = distinct_kernels(report.kernels)
    missing = dict(report.missing) | {"sass": _ONLY, "timeline": _ONLY}
    if len(kernels) > MOST_KERNELS:
        missing["other kernels"] = f"{len(kernels) - MOST_KERNELS} that take less are not shown"
    return Profile(kernels=tuple(kernels[:MOST_KERNELS]), missing=missing)


_ONLY = "the report holds hardware counters only"


def _timeline(target: Target) -> Profile:
    from profilers.ncu import TOOL
    from profilers.timeline import summarise
    from profilers.timeline.nsys import read_report

    report = read_report(target.path)
    facts = summarise(report.activities, report.api_calls, source="nsys")
    if facts is None:
        reason = next(iter(report.missing.values()), "nothing ran on the device")
        raise _nothing(target, reason)
    kernels = timed_kernels(report.activities)
    missing = dict(report.missing) | dict.fromkeys((TOOL, "sass"), "the report is a timeline only")
    if len(kernels) > MOST_KERNELS:
        missing["other kernels"] = f"{len(kernels) - MOST_KERNELS} that take less are not shown"
    return Profile(kernels=tuple(kernels[:MOST_KERNELS]), timeline=facts, missing=missing)


def _nothing(target: Target, reason: str) -> InputError:
    return InputError(f"{target.path}: {cut(clean(reason), _MOST_TOLD)}")
