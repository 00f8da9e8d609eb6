"""The device: what it is, what its generation can do, and the rates measured on it."""

from __future__ import annotations

from codegen.prompting.budget import Part, Section
from codegen.prompting.untrusted import inline
from mcts.domain import Ceilings, Hardware

_LIMITS: dict[str, tuple[int, int, int]] = {
    "7.0": (96, 2048, 32), "7.5": (64, 1024, 16), "8.0": (163, 2048, 32), "8.6": (99, 1536, 16),
    "8.9": (99, 1536, 24), "9.0": (227, 2048, 32), "10.0": (227, 2048, 32), "12.0": (99, 1536, 24),
}  # fmt: skip
"""KiB of shared memory a block may have, threads and blocks per multiprocessor (CUDA C++
Programming Guide, table of technical specifications per compute capability)."""


def hardware_section(hardware: Hardware | None) -> Section | None:
    """Facts and ceilings, and limits that the generation has."""
    if hardware is None:
        return None
    parts = [Part(", ".join(_facts(hardware)) + ".")]
    if hardware.ceilings is not None:
        rates = ", ".join(_rates(hardware.ceilings))
        parts.append(Part(f"Measured on this very device, not from a datasheet: {rates}."))
    parts += [Part(text, "hardware limit") for text in _limits(hardware.compute_capability or "")]
    return Section(title="Hardware", parts=tuple(parts))


def _facts(hardware: Hardware) -> list[str]:
    facts = [inline(hardware)]
    if hardware.compute_capability:
        facts.append(f"compute capability {inline(hardware.compute_capability)}")
    if hardware.multiprocessors:
        facts.append(f"{hardware.multiprocessors} multiprocessors")
    if hardware.l2_bytes:
        facts.append(f"L2 {hardware.l2_bytes / 2**20:.0f} MiB")
    if hardware.memory_bytes:
        facts.append(f"memory {hardware.memory_bytes / 2**30:.0f} GiB")
    return facts


def _rates(ceilings: Ceilings) -> list[str]:
    named = [
        ("copies {:.0f} GB/s (bytes read and written)", ceilings.copy_gb_per_s),
        ("reads {:.0f} GB/s", ceilings.read_gb_per_s),
        ("L2 reads {:.0f} GB/s", ceilings.l2_gb_per_s),
        ("shared memory reads {:.0f} GB/s", ceilings.shared_gb_per_s),
        ("fp32 {:.1f} TFLOP/s", ceilings.fp32_tflop_per_s),
        ("bf16 tensor cores {:.0f} TFLOP/s", ceilings.bf16_tflop_per_s),
        ("an empty launch {:.1f} us", ceilings.launch_us),
    ]
    return [text.format(rate) for text, rate in named if rate is not None]


def _limits(capability: str) -> list[str]:
    limits = _LIMITS.get(capability)
    if limits is None:
        return []
    shared, threads, blocks = limits
    lines = [
        f"A block may have 1024 threads and {shared} KiB of shared memory; a multiprocessor holds "
        f"{threads} threads, {blocks} blocks and 65536 registers."
    ]
    major = int(capability.partition(".")[0])
    if major >= 8:
        extra = " and bulk copies, clusters, wgmma" if capability == "9.0" else ""
        lines.append(f"It has asynchronous copies (cp.async){extra}.")
    return lines
