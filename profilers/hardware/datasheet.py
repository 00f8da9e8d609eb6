"""Peaks from NVIDIA's datasheets, for comparison with measured ceilings, never in place of them.

Peaks are dense (published figures with sparsity are halved), at the boost clock, for the whole
board as sold: no kernel reaches all of one. A GPU is looked up by the exact name that its driver
reports, since boards of similar names differ widely.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Datasheet", "datasheet"]


@dataclass(frozen=True, slots=True)
class Datasheet:
    """Peaks of one board, and their source.

    `bf16_tflop_per_s` is the tensor cores' dense rate with fp32 accumulation; None if the board
    has no such units.
    """

    memory_gb_per_s: float
    fp32_tflop_per_s: float
    bf16_tflop_per_s: float | None
    source: str


def datasheet(name: str) -> Datasheet | None:
    """The datasheet of the GPU that the driver calls `name`; None if it is not listed.

    A MIG slice has a name of its own and is not listed.
    """
    return _BY_NAME.get(_board(name))


def _board(name: str) -> str:
    """The name without NVIDIA, which older drivers omit, or Tesla, which they use instead."""
    words = name.split()
    while words and words[0].lower() in ("nvidia", "tesla"):
        words = words[1:]
    return " ".join(words).lower()


_V100 = "NVIDIA V100 Tensor Core GPU datasheet"
_A100 = "NVIDIA A100 Tensor Core GPU datasheet"
_H100 = "NVIDIA H100 Tensor Core GPU datasheet"
_H200 = "NVIDIA H200 Tensor Core GPU datasheet"
_BLACKWELL = "NVIDIA Blackwell datasheet (GB200 NVL72, HGX B200)"
_GA102 = "NVIDIA Ampere GA102 GPU architecture whitepaper"
_ADA = "NVIDIA Ada GPU architecture whitepaper"
_RTX_BLACKWELL = "NVIDIA RTX Blackwell GPU architecture whitepaper"

_TABLE = (
    ("B200", 7700, 75, 2250, _BLACKWELL),
    ("GB200", 8000, 80, 2500, _BLACKWELL),
    ("H200", 4800, 67, 989.5, _H200),
    ("H200 NVL", 4800, 60, 835.5, _H200),
    ("GH200 480GB", 4000, 67, 989.5, "NVIDIA GH200 Grace Hopper Superchip datasheet"),
    ("H100 80GB HBM3", 3350, 67, 989.5, _H100),
    ("H100 PCIe", 2000, 51, 756, _H100),
    ("H100 NVL", 3900, 60, 835.5, _H100),
    ("A100-SXM4-40GB", 1555, 19.5, 312, _A100),
    ("A100-PCIE-40GB", 1555, 19.5, 312, _A100),
    ("A100-SXM4-80GB", 2039, 19.5, 312, _A100),
    ("A100 80GB PCIe", 1935, 19.5, 312, _A100),
    ("A30", 933, 10.3, 165, "NVIDIA A30 Tensor Core GPU datasheet"),
    ("A10", 600, 31.2, 125, "NVIDIA A10 Tensor Core GPU datasheet"),
    ("A40", 696, 37.4, 149.7, "NVIDIA A40 datasheet"),
    ("L4", 300, 30.3, 121, "NVIDIA L4 Tensor Core GPU datasheet"),
    ("L40", 864, 90.5, 181.05, "NVIDIA L40 GPU datasheet"),
    ("L40S", 864, 91.6, 362.05, "NVIDIA L40S GPU datasheet"),
    ("T4", 320, 8.1, None, "NVIDIA T4 Tensor Core GPU datasheet"),
    ("V100-SXM2-16GB", 900, 15.7, None, _V100),
    ("V100-SXM2-32GB", 900, 15.7, None, _V100),
    ("V100-PCIE-16GB", 900, 14, None, _V100),
    ("V100-PCIE-32GB", 900, 14, None, _V100),
    ("RTX A6000", 768, 38.7, 154.8, _GA102),
    ("GeForce RTX 3090", 936, 35.6, 71, _GA102),
    ("GeForce RTX 4090", 1008, 82.6, 165.2, _ADA),
    ("GeForce RTX 5090", 1792, 104.8, 209.5, _RTX_BLACKWELL),
)
_BY_NAME = {
    _board(name): Datasheet(memory, fp32, bf16, source)
    for name, memory, fp32, bf16, source in _TABLE
}
