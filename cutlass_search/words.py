"""From identifiers and questions to the words that the index knows.

An identifier is kept whole and split at underscores and humps, so that ``SM90_TMA_LOAD`` is found
by its name and by *tma load*. The same happens to a question, whose words are also joined in pairs
(*stream k* finds ``StreamK``) and widened by what CUTLASS calls the same thing.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

IDENTIFIER = re.compile(r"[A-Za-z_]\w+")
_PART = re.compile(r"\d+(?:x\d+)+|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+\d*|[A-Z]+\d*|\d+")
_WORD = re.compile(r"[A-Za-z0-9_]+")

_STOP = """
a about after all also an and any are as at be before between but by can code could cuda cute
cutlass define defined do does each example file find for from get give given has have how i if
in into is it its kind let like look made make makes me my need needs not of on one only or our
out own part per put see should show so some such take that the their them then there these they
this to two use used uses using want way we what when where which while who why will with
without would write you your
"""
STOP = frozenset(_STOP.split())

_BOILERPLATE = """
CUTLASS_HOST_DEVICE CUTLASS_DEVICE CUTE_HOST_DEVICE CUTE_DEVICE CUTE_HOST CUTLASS_PRAGMA_UNROLL
CUTE_UNROLL CUTLASS_PRAGMA_NO_UNROLL CUTE_NO_UNROLL CUTLASS_CONSTEXPR_IF_CXX17 template typename
class struct static constexpr const int return void using bool auto else unsigned operator
public private inline true false namespace cutlass cute this sizeof decltype static_assert
static_cast reinterpret_cast include define endif ifdef
"""
BOILERPLATE = frozenset(_BOILERPLATE.split())
"""Identifiers that stand nearly everywhere and say nothing."""

_SAME: dict[str, str] = {
    "wgmma": "gmma",
    "warpgroup": "wgmma gmma",
    "hopper": "sm90",
    "h100": "sm90",
    "h200": "sm90",
    "ampere": "sm80",
    "a100": "sm80",
    "ada": "sm89",
    "blackwell": "sm100",
    "b200": "sm100",
    "volta": "sm70",
    "turing": "sm75",
    "bf16": "bfloat16",
    "bfloat16": "bf16",
    "fp16": "half f16",
    "fp8": "float8 e4m3 e5m2 f8f6f4",
    "fp4": "float4 e2m1 nvf4",
    "mbarrier": "clustertransactionbarrier clusterbarrier",
    "multicast": "mcast",
    "moe": "grouped",
    "experts": "grouped",
    "attention": "fmha",
    "matmul": "gemm",
    "mma": "gemm",
    "shared_memory": "smem",
    "global_memory": "gmem",
    "register_memory": "rmem",
    "matrix_product": "gemm",
    "matrix_multiplication": "gemm",
    "thread_block": "cta threadblock",
    "block": "cta",
    "evt": "visitor fusion",
    "visitor": "evt",
    "activation": "eltact",
    "grouped": "group",
    "residue": "tail",
    "predicate": "pred",
    "predicated": "pred",
    "persistent": "tilescheduler",
    "pdl": "griddepcontrol",
    "dequantize": "upcast mixed",
    "accumulator": "accum",
    "accumulators": "accum",
    "regs": "register",
    "ldmatrix": "ldsm",
    "stmatrix": "stsm",
    "async": "cpasync",
    "tensormap": "descriptor",
    "setmaxnreg": "reg_alloc reg_dealloc",
    "convolution": "conv",
    "sms": "multiprocessor sm_count",
    "overwrite": "zero",
    "xor": "swizzle",
    "bank_conflicts": "swizzle",
    "reinterpret": "recast",
    "synchronise": "sync",
    "synchronize": "sync",
    "specialised": "specialized",
    "specialisation": "specialized",
    "barrier": "mbarrier",
    "product": "gemm",
    "main_loop": "mainloop",
    "edge": "boundary residue",
}


class Group(NamedTuple):
    """One thing that is asked for: the word itself, and what means the same."""

    word: str
    same: tuple[str, ...]
    joined: bool


def parts(identifier: str) -> tuple[str, ...]:
    """The words of an identifier in lower case; nothing for one that is a single word."""
    found = [part.lower() for part in _PART.findall(identifier)]
    return tuple(found) if len(found) > 1 else ()


@lru_cache(1 << 16)
def stem(word: str) -> str:
    """`word`, in lower case, without the endings that vary; identifiers stay as they are."""
    if len(word) < 5 or not word.isalpha():
        return word
    if word.endswith("s") and not word.endswith(("ss", "us")):
        word = word[:-1]
    for ending, least in (("ing", 7), ("ed", 6), ("er", 6), ("ion", 7)):
        if word.endswith(ending) and len(word) >= least:
            word = word[: -len(ending)]
            if word[-1] == word[-2] and word[-1] not in "ls":
                word = word[:-1]
    return word.removesuffix("e") if len(word) > 4 else word


def terms(text: str) -> set[str]:
    """Identifiers of `text`, whole and in parts, as the index keeps them."""
    return set().union(*map(_TERMS.__getitem__, set(text.encode().translate(_APART).split())))


class _Terms(dict[bytes, tuple[str, ...]]):
    """What a run of word characters is kept as, made once: they recur all over a tree."""

    def __missing__(self, run: bytes) -> tuple[str, ...]:
        whole = [one for one in IDENTIFIER.findall(run.decode()) if one not in BOILERPLATE]
        found = tuple(stem(word) for one in whole for word in (one.lower(), *parts(one)))
        self[run] = found
        return found


_TERMS = _Terms()
_APART = bytes(
    at if at >= 128 or chr(at).isalnum() or chr(at) == "_" else ord(" ") for at in range(256)
)
"""Bytes of UTF-8 as they are, but for blanks in place of what no word holds."""


def groups(question: str) -> list[Group]:
    """What `question` asks for, in its order, without filler words and repetitions."""
    found: dict[str, Group] = {}
    words = _WORD.findall(question.replace("::", " "))
    plain = [word.lower() for word in words]
    for at, word in enumerate(plain):
        pair = plain[at : at + 2]
        if len(pair) == 2:
            joined = "".join(pair)
            meant = _SAME.get("_".join(pair), "").split()
            if "-" in question or meant or not STOP & set(pair):
                found.setdefault(f"+{joined}", Group(joined, tuple(meant), True))
        if word in STOP or len(word) < 2:
            continue
        own = [part for part in parts(words[at]) if len(part) > 1]
        same = dict.fromkeys([*own, *_SAME.get(word, "").split()])
        found.setdefault(word, Group(word, tuple(one for one in same if one != word), False))
    return list(found.values())
