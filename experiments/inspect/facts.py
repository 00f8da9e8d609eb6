"""Machine code and timeline as named facts: what the compiler made, what the device waited for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from experiments.text.words import counted
from mcts.domain import (
    Hardware,
    InstructionKind,
    KernelProfile,
    Profile,
    SassFacts,
    SassLoop,
    TimelineFacts,
)
from mcts.domain import metrics as m

Fact = tuple[str, str]
"""What it is called, and what it comes to."""

UNITS: tuple[tuple[str, str, float], ...] = (
    ("SM", m.SM, 1.0),
    ("DRAM", m.DRAM, 1.0),
    ("L2", m.L2, 1.0),
    ("L1", m.L1, 1.0),
    ("shared", m.SHARED, 1.0),
    ("issue", m.ISSUE, 100.0),
)
"""Units of the device, their counter, and what makes it a percentage of the peak."""
_SHOWN_LINES = 4
_KIB = 1024


def units(kernel: KernelProfile, hardware: Hardware | None) -> list[tuple[str, float]]:
    """% of its peak by unit, as far as measured.

    The levels of memory are as the roofline takes them, internal traffic of the caches left out.
    """
    from profilers.roofline.utilisation import utilisation

    found = {name: (kernel.value(metric), factor) for name, metric, factor in UNITS}
    busy = {name: value * factor for name, (value, factor) in found.items() if value is not None}
    busy |= {name: share for name, share in utilisation(kernel, hardware).levels if name in busy}
    return list(busy.items())


@dataclass(frozen=True, slots=True)
class KernelShare:
    """A kernel of several: how often it ran, for how long in all, and what limits it.

    `us` and `share`, of all kernels' time, are None if it was not timed; `limit` is one of
    `Roofline.limit`, None without counters.
    """

    kernel: KernelProfile
    us: float | None
    share: float | None
    limit: str | None


def kernel_shares(profile: Profile) -> list[KernelShare]:
    """The kernels of a profile, the longest in all first."""
    total = sum(kernel.total_us or 0.0 for kernel in profile.kernels)
    found = [
        KernelShare(kernel, us, us / total if us else None, _limit(kernel, profile.hardware))
        for kernel in profile.kernels
        for us in [kernel.total_us]
    ]
    return sorted(found, key=lambda one: -(one.us or 0.0))


def _limit(kernel: KernelProfile, hardware: Hardware | None) -> str | None:
    from profilers.roofline import classify

    if not kernel.is_counted:
        return None
    alone = Profile(kernels=(kernel,), hardware=hardware)
    position = classify(work=None, profile=alone, time_us=None)
    return None if position is None else position.limit


def machine_code(sass: SassFacts) -> list[Fact]:
    """What a reader of SASS would note, absent things left out but for spills."""
    return [(name, text) for name, text in _machine_code(sass) if text]


def _machine_code(sass: SassFacts) -> Iterator[Fact]:
    yield "instructions", str(sass.instructions)
    if sass.registers is not None:
        yield "registers", f"{sass.registers} a thread"
    if sass.shared_bytes:
        yield (
            "shared memory",
            f"{_bytes(sass.shared_bytes)} a block, static, with what CUDA reserves",
        )
    if sass.stack_bytes:
        yield "stack", f"{_bytes(sass.stack_bytes)} a thread"
    yield "spills", _spills(sass)
    for what, widths in (
        ("global loads", sass.global_loads),
        ("global stores", sass.global_stores),
        ("shared loads", sass.shared_loads),
        ("shared stores", sass.shared_stores),
    ):
        yield what, _widths(widths)
    none = "none" if sass.mix else ""  # without a mix nobody looked for loops
    yield "loops", "; ".join(_loop(loop, sass) for loop in _shown(sass)) or none
    yield _mixed(sass), _mix(sass.hot_mix)
    yield "also", ", ".join(_others(sass))


def _mixed(sass: SassFacts) -> str:
    """Which code the mix is of."""
    return {0: "mix", 1: "hot loop"}.get(len(sass.hot_loops), "hot loops")


def _spills(sass: SassFacts) -> str:
    if not sass.local_loads and not sass.local_stores:
        return "none"
    places = _lines(sass.lines.get("local_loads", ()) or sass.lines.get("local_stores", ()))
    return f"{sass.local_loads} local loads, {sass.local_stores} local stores{places}"


def _widths(widths: Mapping[str, int]) -> str:
    ordered = sorted(widths.items(), key=lambda item: int(item[0]) if item[0].isdigit() else 0)
    return ", ".join(f"{count} x {bits}-bit" for bits, count in ordered if count)


def _shown(sass: SassFacts) -> list[SassLoop]:
    """Hot loops and the deepest others, outer ones first."""
    most, hot = 3, sass.hot_loops
    ranked = sorted(sass.loops, key=lambda one: (one not in hot, -one.depth, -one.instructions))
    return sorted(ranked[:most], key=lambda loop: loop.depth)


def _loop(loop: SassLoop, sass: SassFacts) -> str:
    where = f"line {loop.line}, " if loop.line is not None else ""
    nested = f"depth {loop.depth}, " if loop.depth > 1 else ""
    unrolled = f"unrolled {loop.unrolled}x" if loop.unrolled > 1 else "not unrolled"
    hot = ", hot" if loop in sass.hot_loops and len(sass.loops) > 1 else ""
    return f"{where}{nested}{counted(loop.instructions, 'instruction')}, {unrolled}{hot}"


def _mix(mix: Mapping[InstructionKind, int]) -> str:
    total = sum(mix.values())
    ordered = sorted(mix.items(), key=lambda item: -item[1])
    shares = [(kind, count / total) for kind, count in ordered if count] if total else []
    return ", ".join(f"{kind} {share:.0%}" for kind, share in shares[:5] if share >= 0.01)


def _others(sass: SassFacts) -> Iterator[str]:
    for count, what in (
        (sass.tensor_ops, "tensor"),
        (sass.serial_wgmma_ops, "serial wgmma"),
        (sass.async_copies, "asynchronous copies"),
        (sass.bulk_copies, "bulk copies"),
        (sass.fma_ops, "FMA"),
        (sass.special_ops, "special functions"),
        (sass.double_ops, "fp64"),
        (sass.conversion_ops, "conversions"),
        (sass.atomic_ops, "atomics"),
        (sass.barriers, "barriers"),
        (sass.shuffles, "shuffles"),
    ):
        if count:
            yield f"{count} {what}"


def _lines(lines: tuple[int, ...]) -> str:
    if not lines:
        return ""
    shown = ", ".join(map(str, lines[:_SHOWN_LINES]))
    more = ", ..." if len(lines) > _SHOWN_LINES else ""
    return f" (line {shown}{more})"


def _bytes(count: int) -> str:
    for limit, unit in ((_KIB**3, "GiB"), (_KIB**2, "MiB"), (_KIB, "KiB")):
        if count >= limit:
            return f"{count / limit:.4g} {unit}"
    return counted(count, "byte")


def timeline(facts: TimelineFacts) -> list[Fact]:
    """What the device did over the window, and what it waited for."""
    return list(_timeline(facts))


def _timeline(facts: TimelineFacts) -> Iterator[Fact]:
    window = f"{counted(facts.calls, 'call')}, " if facts.calls > 1 else ""
    yield "window", f"{window}{duration(facts.span_us)}, seen by {facts.source}"
    idle = facts.idle_share
    busy = facts.busy_us / facts.span_us if facts.span_us else 0.0
    yield "device", f"kernels run {busy:.0%}" + (f", idle {idle:.0%}" if idle is not None else "")
    median = facts.median_kernel_us
    each = f", median {duration(median)}" if median is not None else ""
    short = f", {facts.short_kernels} below 10 us" if facts.short_kernels else ""
    runs = counted(facts.kernels, "run")
    yield "kernels", f"{runs} of {counted(facts.kernel_names, 'kernel')}{each}{short}"
    if facts.first_use_us:
        yield (
            "loading",
            f"{duration(facts.first_use_us)} before kernels that ran for the first time",
        )
    if facts.launch_api_us:
        graphs = f", {facts.graph_launches} of graphs" if facts.graph_launches else ""
        yield "launching", f"{duration(facts.launch_api_us)} of the host's time{graphs}"
    copies = facts.copies_to_device + facts.copies_to_host
    if copies:
        yield "copies", _copies(facts)
    if facts.sync_calls:
        yield (
            "waiting",
            f"{counted(facts.sync_calls, 'call')}, {duration(facts.sync_us)} of the host's time",
        )
    if facts.allocations:
        yield (
            "allocating",
            f"{facts.allocations} calls between kernels, {duration(facts.allocation_us)}",
        )
    if facts.streams > 1:
        yield "streams", f"{facts.streams}, {duration(facts.overlapped_us)} overlapped"


def _copies(facts: TimelineFacts) -> str:
    kinds = f"{facts.copies_to_device} to the device, {facts.copies_to_host} to the host"
    size = f"{_bytes(facts.copied_bytes)} in {duration(facts.copy_us)}"
    odd = [
        f"{count} {what}"
        for count, what in ((facts.small_copies, "small"), (facts.pageable_copies, "pageable"))
        if count
    ]
    return ", ".join([kinds, size, *odd])


def duration(us: float) -> str:
    """A time with three digits in the unit that suits it."""
    for limit, unit, factor in ((1e3, "us", 1.0), (1e6, "ms", 1e3)):
        if us < limit:
            return f"{us / factor:.3g} {unit}"
    return f"{us / 1e6:.3g} s"
