"""Which GPU architectures and which generation of CUTLASS a path belongs to."""

from __future__ import annotations

import re

ARCHITECTURES = {
    "sm70": ("volta",),
    "sm75": ("turing",),
    "sm80": ("ampere", "a100"),
    "sm89": ("ada",),
    "sm90": ("hopper", "h100", "h200", "wgmma", "gmma"),
    "sm100": ("blackwell", "b200", "umma", "tmem"),
    "sm103": ("blackwell",),
    "sm120": ("blackwell", "geforce"),
}
"""By the words that name them."""
NEWER = ("sm100", "sm103", "sm120")
"""Ranked a little lower where a question names none: Hopper is what is asked about most here."""

_WORD = re.compile(r"[a-z]+\d*|\d+")
_EXAMPLE = re.compile(r"examples/(\d+)_")
_FIRST_OF_3 = 48
"""The first numbered example of CUTLASS 3."""
_OLD = re.compile(
    r"include/cutlass/(?:gemm|conv|transform|reduction|thread|layout)/(?!.*universal_adapter).*\.h$"
    r"|include/cutlass/epilogue/(?!thread/).*\.h$"
)


def architectures(text: str) -> frozenset[str]:
    """What `text`, a path or a question, names."""
    words = set(_WORD.findall(text.lower()))
    return frozenset(
        name for name, also in ARCHITECTURES.items() if name in words or words & set(also)
    )


def is_cutlass_2(path: str) -> bool:
    """Whether a file belongs to the API in front of CuTe, whose headers end in .h."""
    if found := _EXAMPLE.match(path):
        return int(found[1]) < _FIRST_OF_3
    return _OLD.match(path) is not None
