"""An inspection as text, for a terminal, a pipe or a file."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from experiments.inspect import facts, plot
from experiments.inspect.results import Inspection, Part
from experiments.inspect.roofs import chart_of
from experiments.text.tables import width
from experiments.text.words import clean, counted
from mcts.domain import Axis, Finding, Roofline
from mcts.text import cut

if TYPE_CHECKING:
    from rich.console import RenderableType

NARROWEST = 50
_SHOWN_LINES = 3
_SHOWN_METRICS = 4
_SHOWN_KERNELS = 12
_SHOWN_MODULES = 16
_INDENT = 3
_GUTTER = 2
_WIDEST_NAME = 28
_AXIS_STYLE: dict[Axis, str] = {"compute": "magenta", "memory": "blue", "latency": "yellow"}


def show(inspection: Inspection, *, limit: int, what_if: bool = False) -> None:
    """Print the inspection, with at most `limit` findings a kernel, and what repairs would gain
    one after another."""
    from rich.console import Console

    console = Console(width=max(NARROWEST, width()), highlight=False)
    with console.capture() as captured:
        for item in _page(inspection, limit=limit, what_if=what_if):
            console.print(item)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def _page(inspection: Inspection, *, limit: int, what_if: bool) -> Iterator[RenderableType]:
    glyphs = plot.Glyphs.of(sys.stdout.encoding)
    yield from _heading(inspection)
    source = inspection.source.splitlines() if inspection.source else []
    for part in inspection.parts:
        if len(inspection.parts) > 1:
            yield _title(_kernel_title(part))
        yield from _kernels(part)
        yield from _modules(part)
        yield from _position(part)
        yield from _drawn(part, glyphs)
        yield from _findings(part, source, glyphs, limit=limit)
        if what_if:
            yield from _what_if(part)
        yield from _code(part)
        yield from _timeline(part)
    yield from _unseen(inspection)


def _heading(inspection: Inspection) -> Iterator[RenderableType]:
    from rich.text import Text

    parts = inspection.parts
    first = parts[0]
    names = [clean(kernel.name) for part in parts for kernel in part.profile.kernels]
    what = names[0] if len(names) == 1 else f"{counted(len(names), 'kernel')} of {inspection.file}"
    time = _time(first) if len(parts) == 1 else ""
    yield Text(f"{cut(clean(what), 120)} {_where(inspection)}{time}", style="bold")
    if len(names) == 1:
        yield Text(clean(str(inspection.file)), style="dim")


def _time(part: Part) -> str:
    if part.time_us is not None:
        return f", {facts.duration(part.time_us)} per call"
    timeline = part.profile.timeline
    return f", {facts.duration(timeline.span_us)} on the device" if timeline else ""


def _where(inspection: Inspection) -> str:
    hardware = inspection.hardware
    name = clean(hardware.name) if hardware else "a device that the report does not name"
    match inspection.origin:
        case "live":
            return f"on {name}"
        case "replayed":
            return f"on {name}, replayed: recorded {inspection.recorded_on or 'at an unknown date'}"
        case "report":
            return f"on {name}, as reported"
    return "read as machine code, not run"


def _kernel_title(part: Part) -> str:
    kernel = part.kernel
    if kernel is None:
        return "the whole run"
    time = f", {facts.duration(part.time_us)}" if part.time_us else ""
    times = f", launched {kernel.launches} times" if kernel.launches > 1 else ""
    return f"{clean(kernel.name)}{time}{times}"


def _kernels(part: Part) -> Iterator[RenderableType]:
    """The kernels of a part that holds several, those that take longest: share, runs, limit."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    shares = facts.kernel_shares(part.profile)
    if len(shares) < 2:
        return
    rows = [
        (
            f"{one.share:.0%}" if one.share is not None else "",
            _runs(one),
            one.limit or "",
            clean(one.kernel.name),
        )
        for one in shares[:_SHOWN_KERNELS]
    ]
    known = [max(len(row[place]) for row in rows) for place in range(3)]
    room = max(NARROWEST, width()) - _INDENT - sum(known) - len(known) * _GUTTER
    yield _title("kernels")
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, _GUTTER, 0, 0))
    table.add_column(no_wrap=True, justify="right", style="bold")
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, style="dim")
    table.add_column(no_wrap=True)
    for share, runs, limit, name in rows:
        table.add_row(Text(share), Text(runs), Text(limit), Text(cut(name, max(1, room))))
    yield Padding(table, (0, 0, 0, _INDENT))
    rest = shares[_SHOWN_KERNELS:]
    if rest:
        left = sum(one.share or 0.0 for one in rest)
        yield Text(f"{' ' * _INDENT}and {counted(len(rest), 'other')}, {left:.0%}", style="dim")


def _modules(part: Part) -> Iterator[RenderableType]:
    """The modules of a PyTorch model that a call's time falls into, with their share of it."""
    times = part.profile.modules
    if times is None:
        return
    rows, parts = [], times.parts(most=_SHOWN_MODULES)
    for module in parts:
        runs = f" in {module.calls} runs" if module.calls > 1 else ""
        took = f"{times.share(module):.0%}, {facts.duration(module.us)}{runs}"
        rows.append((module.path, f"{took}, {module.kind}: {module.inputs} -> {module.output}"))
    beside = 1 - sum(map(times.share, parts))
    rows.append(("all else", f"{max(0.0, beside):.0%}"))
    yield from _table(f"modules, of {facts.duration(times.us)} a call", rows)


def _runs(one: facts.KernelShare) -> str:
    times = counted(one.kernel.launches, "run")
    return f"{times} of {facts.duration(one.us / one.kernel.launches)}" if one.us else times


def _position(part: Part) -> Iterator[RenderableType]:
    """Class, confidence, gaps and budget."""
    from rich.text import Text

    roofline = part.guidance.roofline
    yield Text()
    if roofline is None or roofline.bound == "unknown":
        why = roofline.reason if roofline else "no place under the roofline"
        yield Text("class unknown: ", "bold").append(clean(why), "not bold")
        return
    level = f" at {roofline.level}" if roofline.level else ""
    head = Text(f"{roofline.bound}-bound{level}", "bold")
    yield head.append(f", confidence {roofline.confidence:.0%}", "not bold")
    if roofline.reason:
        yield Text(clean(roofline.reason))
    gap = roofline.gap
    yield Text(
        f"left to the ceiling: compute {gap.compute:.0%}, memory {gap.memory:.0%}, "
        f"latency {gap.latency:.0%}"
    )
    if roofline.beaten_by is not None:
        yield Text(f"the least work's estimate is beaten, by {roofline.beaten_by:.2f}x")
    if roofline.near_peak:
        yield Text("near its peak: little is left to gain here", style="green")
    else:
        yield Text(f"worth changing next: {_budget(roofline)}")


def _budget(roofline: Roofline) -> str:
    slots = [
        f"{counted(n, 'thing')} about {axis}" for axis, n in roofline.method_budget.items() if n
    ]
    return ", ".join(slots) or "nothing in particular"


def _drawn(part: Part, glyphs: plot.Glyphs) -> Iterator[RenderableType]:
    """The roofline if the kernel has a place on it, else how busy each unit was."""
    from rich.text import Text

    chart = chart_of([part])
    used = facts.units(part.kernel, part.profile.hardware) if part.kernel else []
    if chart is not None:
        lines = plot.roofline(chart, width=min(plot.WIDTH, max(NARROWEST, width())))
    elif used:
        of = f", {part.kernel.name}" if part.kernel and len(part.profile.kernels) > 1 else ""
        lines = [f"% of each unit's peak{of}", *plot.bars(used, glyphs)]
    else:
        return
    yield Text()
    yield Text("\n".join(clean(line) for line in lines), no_wrap=True, overflow="ellipsis")


def _findings(
    part: Part, source: Sequence[str], glyphs: plot.Glyphs, *, limit: int
) -> Iterator[RenderableType]:
    from rich.text import Text

    found = part.guidance.findings
    yield Text()
    if not found:
        yield Text("no tool found anything to say")
    for rank, finding in enumerate(found[:limit], start=1):
        yield from _finding(rank, finding, source, glyphs)
    if len(found) > limit:
        yield Text(f"({len(found) - limit} weaker findings left out: --limit {len(found)})", "dim")
    for note in _notes(part):
        yield Text(f"note: {clean(note)}", style="dim")


def _why_nothing_gains(part: Part) -> str:
    if part.kernel is not None and part.kernel.library:
        return "it is a library's kernel"
    if not any(kernel.metrics for kernel in part.profile.kernels):
        return "not known, as no counters were taken"
    return "no repair alone would gain 5 %, as far as was counted"


def _what_if(part: Part) -> Iterator[RenderableType]:
    """The repairs in the order that gains most, each with what is reached by then."""
    if not part.what_if:
        from rich.text import Text

        yield Text()
        yield Text(f"what if: {_why_nothing_gains(part)}", style="dim")
        return
    before = 1.0
    rows: list[facts.Fact] = []
    for step in part.what_if:
        gain, time = step.outlook.gain, ""
        if part.time_us is not None and len(part.profile.kernels) == 1:
            time = f", some {facts.duration(part.time_us / gain)}"
        more = f"{gain / before:.2f}x, " if rows else ""
        rows.append(
            (clean(step.tool), f"{more}{gain:.2f}x in all{time}, limited by {step.outlook.limit}")
        )
        before = gain
    yield from _table("what if, one repair after another", rows)


def _notes(part: Part) -> Iterable[str]:
    """What was not measured has its own list."""
    return (note for note in part.guidance.notes if not note.startswith("not measured: "))


def _finding(
    rank: int, finding: Finding, source: Sequence[str], glyphs: plot.Glyphs
) -> Iterator[RenderableType]:
    from rich.padding import Padding
    from rich.text import Text

    gain = f", {finding.expectation}" if finding.expectation else ""
    head = Text(f"{rank}. ", "bold").append(clean(finding.tool), "bold")
    if finding.kernel:
        head.append(f" in {clean(finding.kernel)}", "bold")
    strength = plot.bar(finding.strength, glyphs, width=5)
    head.append(f"  strength {strength} {finding.strength:.0%}, ", "not bold")
    yield head.append(finding.axis, _AXIS_STYLE[finding.axis]).append(gain, "bold green")
    body = [Text(clean(finding.advice))]
    body += [Text(f"line {number}: {text}", "cyan") for number, text in _lines(finding, source)]
    body += [Text(clean(str(each)), "dim") for each in finding.evidence[:_SHOWN_METRICS]]
    if finding.methods:
        body.append(Text(f"methods: {clean(', '.join(finding.methods))}", "dim"))
    for text in body:
        yield Padding(text, (0, 0, 0, _INDENT))


def _lines(finding: Finding, source: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The places a finding names, with the source's own words if they are known."""
    for number in finding.lines[:_SHOWN_LINES]:
        text = source[number - 1].strip() if 0 < number <= len(source) else ""
        yield number, cut(clean(text), 100)


def _code(part: Part) -> Iterator[RenderableType]:
    for kernel in part.profile.kernels:
        if kernel.sass is not None:
            several = f" of {clean(kernel.name)}" if len(part.profile.kernels) > 1 else ""
            yield from _table(f"machine code{several}", facts.machine_code(kernel.sass))


def _timeline(part: Part) -> Iterator[RenderableType]:
    if part.profile.timeline is not None:
        yield from _table("timeline", facts.timeline(part.profile.timeline))


def _table(title: str, rows: Sequence[facts.Fact]) -> Iterator[RenderableType]:
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    yield _title(title)
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in rows:
        table.add_row(Text(cut(clean(name), _WIDEST_NAME), "dim"), Text(clean(text)))
    yield Padding(table, (0, 0, 0, _INDENT))


def _unseen(inspection: Inspection) -> Iterator[RenderableType]:
    """What is not known, by reason."""
    reasons: dict[str, list[str]] = {}
    for name, reason in inspection.missing.items():
        reasons.setdefault(reason, []).append(name)
    if not reasons:
        return
    yield from _table("not seen", [(_listed(names), why) for why, names in reasons.items()])


def _listed(names: list[str]) -> str:
    shown = [cut(clean(name), 40) for name in names]
    return ", ".join(shown) if len(shown) < 3 else f"{shown[0]} and {len(shown) - 1} more"


def _title(text: str) -> RenderableType:
    from rich.text import Text

    return Text(f"\n{text}", style="bold")
