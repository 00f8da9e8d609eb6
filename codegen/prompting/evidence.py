"""What was measured, in few lines and in the order in which it tells most, and nothing judged.

Busy units first; then what a warp waits for, each reason by itself; traffic, how well accesses use
it; what a multiprocessor holds; what is executed; and against the variant that this one came from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from codegen.prompting.untrusted import inline
from mcts.domain import KernelProfile, Profile, SassFacts, SassLoop
from mcts.domain import metrics as m

_MOST_KERNELS = 3
_LEAST_SHARE = 0.1
"""A kernel's share of the time from which it is described."""
_LEAST_STALL = 0.02
"""A reason's share of a warp's time from which it is told."""
_LEAST_BUSY = 1.0
_CHANGED = 1.15
"""Factor from which a figure differs from that of the variant before."""
_UNITS = (
    (m.DRAM, "DRAM"),
    (m.L2, "L2"),
    (m.L1, "L1"),
    (m.SHARED, "shared memory"),
    (m.L2_ATOMIC_UNIT, "atomics in L2"),
    (m.TENSOR_PIPE, "tensor cores"),
    (m.FMA_PIPE, "FMA pipe"),
    (m.ALU_PIPE, "ALU pipe"),
    (m.FP64_PIPE, "fp64 pipe"),
    (m.XU_PIPE, "special functions and conversions"),
    (m.LSU_PIPE, "load/store unit"),
    (m.ADU_PIPE, "address unit"),
)
_STALLS = (
    (m.STALL_LONG_SCOREBOARD, "data from L2 or DRAM (long scoreboard)"),
    (m.STALL_SHORT_SCOREBOARD, "data from shared memory or special functions (short scoreboard)"),
    (m.STALL_BARRIER, "barriers"),
    (m.STALL_WAIT, "the fixed latency of the instruction before (wait)"),
    (m.STALL_MATH, "a busy arithmetic or tensor pipe (math pipe throttle)"),
    (m.STALL_GMMA, "wgmma results (gmma)"),
    (m.STALL_LG_THROTTLE, "a full queue of global accesses (lg throttle)"),
    (m.STALL_MIO_THROTTLE, "a full queue of shared memory and special functions (mio throttle)"),
    (m.STALL_NOT_SELECTED, "their turn, being ready (not selected)"),
    (m.STALL_BRANCH, "branches"),
    (m.STALL_DRAIN, "stores to leave at the end (drain)"),
    (m.STALL_DISPATCH, "dispatch"),
    (m.STALL_NO_INSTRUCTION, "instructions to be fetched (no instruction)"),
    (m.STALL_MEMBAR, "fences (membar)"),
    (m.STALL_IMC_MISS, "constants (imc miss)"),
)
_LIMITS = (
    (m.LIMIT_REGISTERS, "registers"),
    (m.LIMIT_SHARED, "shared memory"),
    (m.LIMIT_WARPS, "warps"),
    (m.LIMIT_BLOCKS, "blocks"),
    (m.LIMIT_BARRIERS, "barriers"),
)
_COMPARED = (
    (m.DURATION, "time"),
    (m.DRAM, "DRAM busy"),
    (m.L2, "L2 busy"),
    (m.SHARED, "shared memory busy"),
    (m.TENSOR_PIPE, "tensor cores busy"),
    (m.FMA_PIPE, "FMA pipe busy"),
    (m.ISSUE, "issue slots used"),
    (m.ACHIEVED_OCCUPANCY, "warps resident"),
    (m.REGISTERS, "registers"),
    (m.DRAM_READ_BYTES, "read from DRAM"),
    (m.DRAM_WRITE_BYTES, "written to DRAM"),
    (m.L2_SECTORS, "L2 sectors"),
    (m.INSTRUCTIONS, "warp instructions"),
    (m.LOCAL_LOADS, "loads of spilled values"),
)


def evidence_texts(profile: Profile | None, *, before: Profile | None = None) -> list[str]:
    """A text for each kernel that takes a tenth of the time or more, the longest first, one for the
    others together, and one for what lies between kernels; what was not measured is left out.

    `before` is the profile of the variant that this one came from.
    """
    if profile is None or not (profile.kernels or profile.timeline):
        return ["Nothing was profiled."]
    total = sum(kernel.total_us or 0.0 for kernel in profile.kernels)
    ranked = sorted(profile.kernels, key=lambda kernel: -(kernel.total_us or 0.0))
    told = [
        kernel
        for at, kernel in enumerate(ranked[:_MOST_KERNELS])
        if at == 0 or (total and (kernel.total_us or 0.0) >= _LEAST_SHARE * total)
    ]
    texts = [_kernel_text(kernel, total) for kernel in told]
    if rest := _rest(ranked[len(told) :], total):
        texts.append(rest)
    if between := _between(profile):
        texts.append(between)
    if before is not None and (changed := _changes(ranked[:1], before)):
        texts.append(changed)
    return texts


def _kernel_text(kernel: KernelProfile, total: float) -> str:
    lines = [
        *_busy(kernel),
        *_waits(kernel),
        *_traffic(kernel),
        *_accesses(kernel),
        *_shared(kernel),
        *_residency(kernel),
        *_executed(kernel),
        *_code(kernel.sass),
    ]
    return "\n".join([f"{_head(kernel, total)}:", *(f"- {line}." for line in lines)])


def _head(kernel: KernelProfile, total: float) -> str:
    words = f"`{inline(kernel.name.replace('`', ''), longest=60)}`"
    if kernel.library:
        words += " (of a library)"
    if kernel.total_us is not None:
        words += f", {kernel.total_us:.1f} us"
        if kernel.launches > 1:
            words += f" in {kernel.launches} launches"
        if total:
            words += f", {kernel.total_us / total:.0%} of the kernels' time"
    return words


def _rest(kernels: Sequence[KernelProfile], total: float) -> str:
    known = [kernel for kernel in kernels if kernel.total_us is not None]
    if not known:
        return ""
    heads = "; ".join(_head(kernel, total) for kernel in known[:_MOST_KERNELS])
    more = len(known) - _MOST_KERNELS
    return f"Besides: {heads}{f'; and {more} more' if more > 0 else ''}."


def _between(profile: Profile) -> str:
    timeline = profile.timeline
    if timeline is None or timeline.idle_share is None:
        return ""
    return (
        f"Between kernels the device did nothing for {timeline.idle_share:.0%} of the span of "
        f"{timeline.calls} calls ({timeline.launches} launches)."
    )


def _busy(kernel: KernelProfile) -> Iterator[str]:
    known = [(kernel.value(metric), name) for metric, name in _UNITS]
    busy = sorted(
        ((value, name) for value, name in known if value is not None and value >= _LEAST_BUSY),
        reverse=True,
    )
    issue = kernel.value(m.ISSUE)
    words = [f"{name} {value:.0f}" for value, name in busy]
    if issue is not None:
        words.append(f"issue slots {100 * issue:.0f}")
    if words:
        yield f"busy, in % of peak: {', '.join(words)}"


def _waits(kernel: KernelProfile) -> Iterator[str]:
    latency = kernel.value(m.WARP_LATENCY)
    if not latency:
        return
    known = [(kernel.value(metric) or 0.0, name) for metric, name in _STALLS]
    told = sorted((pair for pair in known if pair[0] >= _LEAST_STALL * latency), reverse=True)
    reasons = ", ".join(f"{value / latency:.0%} for {name}" for value, name in told)
    yield f"a warp issues once in {latency:.1f} cycles; it waits {reasons or 'for nothing else'}"


def _traffic(kernel: KernelProfile) -> Iterator[str]:
    words = []
    read, written = kernel.value(m.DRAM_READ_BYTES), kernel.value(m.DRAM_WRITE_BYTES)
    if read is not None and written is not None:
        words.append(f"{_bytes(read)} read from DRAM, {_bytes(written)} written")
    if (sectors := kernel.value(m.L2_SECTORS)) is not None:
        words.append(f"{_bytes(sectors * m.SECTOR_BYTES)} through L2")
    for metric, name in ((m.L1_HIT, "L1"), (m.L2_HIT, "L2")):
        if (hits := kernel.value(metric)) is not None:
            words.append(f"{hits:.0f} % hits in {name}")
    if words:
        yield f"moves a launch: {', '.join(words)}"


def _accesses(kernel: KernelProfile) -> Iterator[str]:
    facts = kernel.sass
    for name, sectors, requests, used, widths in (
        ("loads", m.LOAD_SECTORS, m.LOAD_REQUESTS, m.LOAD_BYTES_PER_SECTOR,
         facts.global_loads if facts else {}),
        ("stores", m.STORE_SECTORS, m.STORE_REQUESTS, m.STORE_BYTES_PER_SECTOR,
         facts.global_stores if facts else {}),
    ):  # fmt: skip
        moved, asked = kernel.value(sectors), kernel.value(requests)
        if not moved or not asked:
            continue
        words = f"global {name}: {moved / asked:.1f} sectors per request"
        if share := kernel.value(used):  # copies past the registers are not counted in it
            words += f", {share:.1f} of {m.SECTOR_BYTES} bytes of a sector used"
        if widths:
            words += f"; instructions {_counts(widths, 'bit')}"
        yield words


def _shared(kernel: KernelProfile) -> Iterator[str]:
    for name, waves, conflicts in (
        ("loads", m.SHARED_WAVEFRONTS_LOAD, m.BANK_CONFLICTS_LOAD),
        ("stores", m.SHARED_WAVEFRONTS_STORE, m.BANK_CONFLICTS_STORE),
    ):
        done, lost = kernel.value(waves), kernel.value(conflicts)
        if done and lost is not None:
            yield f"shared {name}: {_count(done)} wavefronts, {lost / done:.0%} for bank conflicts"


def _residency(kernel: KernelProfile) -> Iterator[str]:
    words = []
    grid, block = kernel.value(m.GRID), kernel.value(m.BLOCK)
    if grid is not None and block is not None:
        words.append(f"{grid:,.0f} blocks of {block:.0f} threads")
    if (waves := kernel.value(m.WAVES)) is not None:
        words.append(f"{waves:.3g} waves")
    if (registers := kernel.value(m.REGISTERS)) is not None:
        words.append(f"{registers:.0f} registers")
    if (shared := kernel.value(m.SHARED_PER_BLOCK)) is not None:
        words.append(f"{shared / 1024:.4g} KiB shared per block")
    limits = [(value, name) for key, name in _LIMITS if (value := kernel.value(key)) is not None]
    if limits:
        least = min(limits)[0]
        by = " and ".join(name for value, name in limits if value == least)
        fit = "block fits" if least == 1 else "blocks fit"
        words.append(f"{least:.0f} {fit} a multiprocessor ({by})")
    if (resident := kernel.value(m.ACHIEVED_OCCUPANCY)) is not None:
        words.append(f"{resident:.0f} % of its warps resident")
    if words:
        yield ", ".join(words)
    spilled = [kernel.value(metric) for metric in (m.LOCAL_LOADS, m.LOCAL_STORES)]
    if any(spilled):
        loads, stores = (_count(value or 0) for value in spilled)
        yield f"local memory (spills, indexed arrays): {loads} loads, {stores} stores"


def _executed(kernel: KernelProfile) -> Iterator[str]:
    words = []
    if (executed := kernel.value(m.INSTRUCTIONS)) is not None:
        words.append(f"{_count(executed)} warp instructions")
    if (active := kernel.value(m.ACTIVE_THREADS_PER_INSTRUCTION)) is not None:
        words.append(f"{active:.1f} of 32 threads active in each")
    if words:
        yield ", ".join(words)


def _code(facts: SassFacts | None) -> Iterator[str]:
    if facts is None:
        return
    if facts.mix:
        yield f"machine code: {facts.instructions} instructions ({_counts(facts.mix)})"
    products = [code for code in facts.opcodes if code.startswith(("HMMA", "HGMMA", "IMMA", "IGMMA",
                "QGMMA", "DMMA", "BGMMA"))]  # fmt: skip
    if products:
        yield f"products on the tensor cores by {', '.join(products[:4])}"
    if hot := facts.hot_loops:
        yield f"hot loop: {_loop(max(hot, key=lambda loop: loop.instructions))}"


def _loop(loop: SassLoop) -> str:
    where = f" at line {loop.line}" if loop.line is not None else ""
    unrolled = f", unrolled {loop.unrolled} times" if loop.unrolled > 1 else ""
    return f"{loop.instructions} instructions{where}{unrolled} ({_counts(loop.mix)})"


def _changes(kernels: Sequence[KernelProfile], before: Profile) -> str:
    """The longest kernel against the longest one of the variant before, whatever their names."""
    old = before.dominant
    if not kernels or old is None:
        return ""
    words = []
    for metric, name in _COMPARED:
        was, now = old.value(metric), kernels[0].value(metric)
        if was is None or now is None or was == now:
            continue
        if min(was, now) <= 0 or max(was, now) >= _CHANGED * min(was, now):
            words.append(f"{name} {_figure(was, metric)} -> {_figure(now, metric)}")
    if not words:
        return ""
    return f"Longest kernel against that of the variant it came from: {', '.join(words)}."


def _figure(value: float, metric: str) -> str:
    if metric == m.DURATION:
        return f"{value / 1e3:.1f} us"
    if metric in (m.DRAM_READ_BYTES, m.DRAM_WRITE_BYTES):
        return _bytes(value)
    if metric == m.ISSUE:
        return f"{100 * value:.0f} %"
    return f"{value:.0f} %" if ".pct" in metric else _count(value)


def _counts(counts: Mapping[Any, int], unit: str = "") -> str:
    ranked = sorted(counts.items(), key=lambda item: -item[1])
    return ", ".join(f"{count} {f'{key}-{unit}' if unit else key}" for key, count in ranked)


def _bytes(value: float) -> str:
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value:.0f} bytes"


def _count(value: float) -> str:
    for unit, scale in (("G", 1e9), ("M", 1e6), ("k", 1e4)):
        if value >= scale:
            return f"{value / (1e3 if unit == 'k' else scale):.3g}{unit}"
    return f"{value:.0f}"
