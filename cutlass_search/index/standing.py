"""How far in front a file stands, whatever words it holds: a factor for its chunks.

Half of the tree is for other GPUs than the one that is asked about, is the API of CUTLASS 2, or is
a variant (sparse, grouped, complex, ...) that says the same as the plain one in the same words.
These are ranked lower where a question does not name them, never hidden. The vocabulary itself,
`include/cute`, stands in front of what is built from it; examples do where one is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cutlass_search.index.generations import ARCHITECTURES, NEWER, architectures, is_cutlass_2
from cutlass_search.index.words import Group, stem

OTHER_ARCHITECTURE = 0.6
NEWER_ARCHITECTURE = 0.7
CUTLASS_2 = 0.65
VOCABULARY = 1.2
EXAMPLE, EXAMPLE_ASKED = 0.7, 1.3
UTILITY = 0.95
VARIANT = 0.8
MOST_VARIANTS = 3
"""Words of a path that are counted against it: names are long."""
_VARIANTS = """
array bias blockscaled blockwise complex conv depthwise distributed ell emulated ext fmha fp8
gather gaussian groupwise im2col interleaved layernorm mixed mla moe permute planar prefetch
quantized quaternion rank residual softmax sparse symm topk transform trmm wmma
"""
VARIANTS = tuple(_VARIANTS.split())
"""Words of paths that name what a file does besides, or instead of, the plain thing."""

_ROOTS = tuple((one, stem(one)) for one in VARIANTS)
_PLACES = ("include/cute/", "examples/", "tools/")
_ELSEWHERE = len(_PLACES)
_OLD_GPUS = frozenset({"sm70", "sm75", "sm80", "sm89"})
_WORD = re.compile(r"[a-z0-9]+")
_WITHIN = ("conv", "fmha")
"""Words that paths also hold as a part of others, as in conv2d."""
_EXAMPLE_ASKED = re.compile(
    r"\b(?:examples?|tutorials?|samples?|demos?|minimal|simplest|simple|complete|standalone|program|"
    r"walk-?through|end[- ]to[- ]end)\b",
    re.IGNORECASE,
)


class Standing(NamedTuple):
    """What the path of a file says; `architectures` and `variants` are sets, as bits."""

    architectures: int
    old: bool
    place: int
    variants: int


def standing(path: str) -> Standing:
    """What `path` says of a file."""
    words = set(_WORD.findall(path.lower()))
    words.update(one for one in _WITHIN if one in path)
    place = next((at for at, top in enumerate(_PLACES) if path.startswith(top)), _ELSEWHERE)
    return Standing(
        _bits(architectures(path), tuple(ARCHITECTURES)),
        is_cutlass_2(path),
        place,
        _bits(words, VARIANTS),
    )


def factors(question: str, wanted: Sequence[Group], known: Iterable[Standing]) -> list[float]:
    """How much what stands so is worth for `question`, which asks for `wanted`."""
    asked = architectures(question)
    named, newer = _bits(asked, tuple(ARCHITECTURES)), _bits(NEWER, tuple(ARCHITECTURES))
    variants = ~_bits(_named_variants(question, wanted), VARIANTS)
    example = EXAMPLE_ASKED if _EXAMPLE_ASKED.search(question) else EXAMPLE
    places = (VOCABULARY, example, UTILITY, 1.0)
    worth = []
    for one in known:
        factor = places[one.place]
        factor *= VARIANT ** min(MOST_VARIANTS, (one.variants & variants).bit_count())
        if asked and one.architectures and not one.architectures & named:
            factor *= OTHER_ARCHITECTURE
        elif not asked and one.architectures & newer:
            factor *= NEWER_ARCHITECTURE
        if one.old and not asked & _OLD_GPUS:
            factor *= CUTLASS_2
        worth.append(factor)
    return worth


def _named_variants(question: str, wanted: Sequence[Group]) -> set[str]:
    words = {stem(word) for group in wanted for word in (group.word, *group.same)}
    lower = question.lower()
    return {one for one, root in _ROOTS if one in lower or root in words}


def _bits(names: Iterable[str], of: Sequence[str]) -> int:
    """The set `names` as one number."""
    found = set(names)
    return sum(1 << at for at, name in enumerate(of) if name in found)
