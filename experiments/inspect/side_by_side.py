"""Two inspections beside each other: what differs, from the time to the machine code."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from experiments.inspect import facts
from experiments.inspect.results import Inspection, Part
from experiments.text.tables import Column, print_fitted
from experiments.text.words import clean
from mcts.domain import KernelProfile

Row = tuple[str, str, str]
"""What it is, and what it comes to in either file; empty where it is not known."""


def show(first: Inspection, second: Inspection) -> None:
    """Print the two as tables: the calls, their kernels in pairs, and what the tools say."""
    paths = first.file, second.file
    same = paths[0].name == paths[1].name
    titles = [clean(str(path) if same else path.name) for path in paths]
    columns = [Column("", "name"), *(Column(title, "words") for title in titles)]
    for rows in (_call(first.parts[0], second.parts[0]), *_kernels(first, second)):
        if rows:
            print_fitted(columns, rows)
            print()
    rows = _findings(first, second)
    print_fitted(columns, rows or [("no tool found anything to say", "", "")])


def _call(first: Part, second: Part) -> list[Row]:
    ratio = ""
    if first.time_us and second.time_us:
        ratio = f"{first.time_us / second.time_us:.2f}x as fast as the first"
    rows = [
        ("time", _time(first), _time(second)),
        ("", "", ratio),
        ("limited by", _bound(first), _bound(second)),
        ("left to the ceiling", _gaps(first), _gaps(second)),
    ]
    return [row for row in rows if row[1] or row[2]]


def _time(part: Part) -> str:
    return facts.duration(part.time_us) if part.time_us else ""


def _bound(part: Part) -> str:
    roofline = part.guidance.roofline
    if roofline is None or roofline.bound == "unknown":
        return ""
    level = f" at {roofline.level}" if roofline.level else ""
    return f"{roofline.bound}{level}, confidence {roofline.confidence:.0%}"


def _gaps(part: Part) -> str:
    roofline = part.guidance.roofline
    if roofline is None or roofline.bound == "unknown":
        return ""
    gap = roofline.gap
    return f"compute {gap.compute:.0%}, memory {gap.memory:.0%}, latency {gap.latency:.0%}"


def _kernels(first: Inspection, second: Inspection) -> Iterator[list[Row]]:
    """The kernels of equal names together, then what is left in its order."""
    ours, theirs = _by_name(first), _by_name(second)
    shared = [name for name in ours if name in theirs]
    for name in shared:
        yield _kernel(ours.pop(name), theirs.pop(name))
    for one, other in zip_longest(ours.values(), theirs.values()):
        yield _kernel(one, other)


def _by_name(inspection: Inspection) -> dict[str, tuple[Part, KernelProfile]]:
    return {
        kernel.name: (part, kernel) for part in inspection.parts for kernel in part.profile.kernels
    }


Known = tuple[Part, KernelProfile] | None


def _kernel(first: Known, second: Known) -> list[Row]:
    sides = [_facts(each) for each in (first, second)]
    names = dict.fromkeys([*sides[0], *sides[1]])
    return [(name, sides[0].get(name, ""), sides[1].get(name, "")) for name in names]


def _facts(known: Known) -> dict[str, str]:
    """Name, run time, use of the units and machine code of a kernel."""
    if known is None:
        return {}
    part, kernel = known
    found = {"kernel": clean(kernel.name)}
    if kernel.total_us:
        found["runs"] = f"{kernel.launches} of {facts.duration(kernel.total_us / kernel.launches)}"
    for unit, share in facts.units(kernel, part.profile.hardware):
        found[f"{unit} busy"] = f"{share:.0f} %"
    if kernel.sass is not None:
        found |= {name: clean(text) for name, text in facts.machine_code(kernel.sass)}
    return found


def _findings(first: Inspection, second: Inspection) -> list[Row]:
    """How strongly each tool speaks, the strongest first."""
    ours, theirs = _strengths(first), _strengths(second)
    tools = sorted({*ours, *theirs}, key=lambda tool: -max(ours.get(tool, 0), theirs.get(tool, 0)))
    return [(clean(tool), _said(ours, tool), _said(theirs, tool)) for tool in tools]


def _said(strengths: dict[str, float], tool: str) -> str:
    return f"strength {strengths[tool]:.0%}" if tool in strengths else "silent"


def _strengths(inspection: Inspection) -> dict[str, float]:
    found: dict[str, float] = {}
    for part in inspection.parts:
        for finding in part.guidance.findings:
            found[finding.tool] = max(found.get(finding.tool, 0.0), finding.strength)
    return found
