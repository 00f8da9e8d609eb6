"""How a file's path changes its rank: a factor for the scores of its chunks.

Half of the tree is for other GPUs than the one that is asked about, is the API of CUTLASS 2, or is
a variant (sparse, grouped, complex, ...) that says the same as the plain file in the same words.
These are ranked lower unless a question names them, and never hidden. `include/cute`, on which the
rest is built, is ranked higher; so are examples if the question asks for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cutlass_search.index.tokens import QueryTerm, stem

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
"""GPU architectures, by the words that name them."""
NEWER = ("sm100", "sm103", "sm120")
"""Ranked a little lower if a question names no architecture: most questions are about Hopper."""

OTHER_ARCHITECTURE = 0.6
NEWER_ARCHITECTURE = 0.7
CUTLASS_2 = 0.65
CUTE = 1.2
EXAMPLE, EXAMPLE_ASKED = 0.7, 1.3
UTILITY = 0.95
VARIANT = 0.8
MOST_VARIANTS = 3
"""Variant words of a path that lower its rank; further ones do not, since names are long."""
_VARIANTS = """
array bias blockscaled blockwise complex conv depthwise distributed ell emulated ext fmha fp8
gather gaussian groupwise im2col interleaved layernorm mixed mla moe permute planar prefetch
quantized quaternion rank residual softmax sparse symm topk transform trmm wmma
"""
VARIANTS = tuple(_VARIANTS.split())
"""Words of paths that name a variant of the plain operation, or something else altogether."""

_VARIANT_STEMS = tuple((one, stem(one)) for one in VARIANTS)
_AREAS = ("include/cute/", "examples/", "tools/")
_OTHER_AREA = len(_AREAS)
_OLD_GPUS = frozenset({"sm70", "sm75", "sm80", "sm89"})
_WORD = re.compile(r"[a-z0-9]+")
_ARCHITECTURE_WORD = re.compile(r"[a-z]+\d*|\d+")
_SUBSTRINGS = ("conv", "fmha")
"""Variant words that also occur inside of other words, such as conv2d."""
_EXAMPLE_ASKED = re.compile(
    r"\b(?:examples?|tutorials?|samples?|demos?|minimal|simplest|simple|complete|standalone|program|"
    r"walk-?through|end[- ]to[- ]end)\b",
    re.IGNORECASE,
)


_EXAMPLE_NUMBER = re.compile(r"examples/(\d+)_")
_FIRST_CUTLASS_3_EXAMPLE = 48
_CUTLASS_2_HEADER = re.compile(
    r"include/cutlass/(?:gemm|conv|transform|reduction|thread|layout)/(?!.*universal_adapter).*\.h$"
    r"|include/cutlass/epilogue/(?!thread/).*\.h$"
)


class PathTraits(NamedTuple):
    """What a path says about its file.

    `architectures` and `variants` are sets of names, as bits; `cutlass_2` is whether it belongs to
    the API before CuTe; `area` is the index of its top folder in `_AREAS`.
    """

    architectures: int
    cutlass_2: bool
    area: int
    variants: int


def architectures(text: str) -> frozenset[str]:
    """The architectures that `text`, a path or a question, names."""
    words = set(_ARCHITECTURE_WORD.findall(text.lower()))
    return frozenset(
        name for name, also in ARCHITECTURES.items() if name in words or words & set(also)
    )


def is_cutlass_2(path: str) -> bool:
    """Whether a file belongs to the API before CuTe, whose headers end in .h."""
    if found := _EXAMPLE_NUMBER.match(path):
        return int(found[1]) < _FIRST_CUTLASS_3_EXAMPLE
    return _CUTLASS_2_HEADER.match(path) is not None


def path_traits(path: str) -> PathTraits:
    """Read the traits of a file off its path."""
    words = set(_WORD.findall(path.lower()))
    words.update(one for one in _SUBSTRINGS if one in path)
    area = next((at for at, top in enumerate(_AREAS) if path.startswith(top)), _OTHER_AREA)
    return PathTraits(
        _bits(architectures(path), tuple(ARCHITECTURES)),
        is_cutlass_2(path),
        area,
        _bits(words, VARIANTS),
    )


def path_factors(
    question: str, wanted: Sequence[QueryTerm], known: Iterable[PathTraits]
) -> list[float]:
    """A factor for each of `known`, given `question` and its terms, `wanted`."""
    asked = architectures(question)
    named, newer = _bits(asked, tuple(ARCHITECTURES)), _bits(NEWER, tuple(ARCHITECTURES))
    variants = ~_bits(_named_variants(question, wanted), VARIANTS)
    example = EXAMPLE_ASKED if _EXAMPLE_ASKED.search(question) else EXAMPLE
    by_area = (CUTE, example, UTILITY, 1.0)
    factors = []
    for one in known:
        factor = by_area[one.area]
        factor *= VARIANT ** min(MOST_VARIANTS, (one.variants & variants).bit_count())
        if asked and one.architectures and not one.architectures & named:
            factor *= OTHER_ARCHITECTURE
        elif not asked and one.architectures & newer:
            factor *= NEWER_ARCHITECTURE
        if one.cutlass_2 and not asked & _OLD_GPUS:
            factor *= CUTLASS_2
        factors.append(factor)
    return factors


def _named_variants(question: str, wanted: Sequence[QueryTerm]) -> set[str]:
    words = {stem(word) for term in wanted for word in (term.word, *term.synonyms)}
    lower = question.lower()
    return {one for one, root in _VARIANT_STEMS if one in lower or root in words}


def _bits(names: Iterable[str], of: Sequence[str]) -> int:
    """The set `names` as bits; bit i stands for `of[i]`."""
    found = set(names)
    return sum(1 << at for at, name in enumerate(of) if name in found)
