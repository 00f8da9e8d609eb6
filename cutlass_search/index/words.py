"""From identifiers and questions to the words that the index knows.

An identifier is kept whole and split at underscores and humps, so that ``SM90_TMA_LOAD`` is found
by its name and by *tma load*. The same happens to a question, whose words are also joined in pairs
(*stream k* finds ``StreamK``) and widened by what CUTLASS calls the same thing.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import chain
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

_LIKE = """
a100: sm80
absolute: abs
accumulator: accum acc
activation: eltact act
ada: sm89
add: plus sum
address: addr
adapter: handle
allocate: alloc
ampere: sm80
argument: args params
async: cpasync
attention: fmha
auxiliary: aux
b200: sm100
backward: bwd
bank_conflicts: swizzle
barrier: mbarrier
batch: batched
benchmark: profile timer
bf16: bfloat16
bfloat16: bf16
blackwell: sm100
block: cta
bulk: tma
cast: convert
check: verify can_implement
column: col
compare: verify reference equal
compute_capability: sm arch
conditional: predicate if
contraction: gett
convert: cast upcast
convolution: conv
coordinate: coord crd
cpu: host
deallocate: dealloc free
debug: print trace
decrease: dealloc
dequantize: upcast mixed
descriptor: desc
difference: diff
dimension: extent mode
divide: div
double: f64 fp64
dsmem: set_block_rank store_shared_remote
dump: print
edge: boundary residue
elapsed: timer
elementwise: elt eltwise transform
elect: leader
error: status
evt: visitor fusion
experts: grouped
fetch: load
filter: weight
flash: fmha
forward: fwd fprop
fp16: half f16
fp32: float f32
fp4: float4 e2m1 nvf4
fp6: e3m2 e2m3
fp64: double f64
fp8: float8 e4m3 e5m2 f8f6f4
fragment: frg rmem
global_memory: gmem
gpu: device
gradient: grad bwd
grouped: group
h100: sm90
h200: sm90
half: fp16 f16
hopper: sm90
increase: alloc
index: idx
initialize: init initialise
int4: s4 int4b_t
int8: s8 int8_t
inverse: invert inv
k_loop: mainloop
ldmatrix: ldsm
leader: elect
main_loop: mainloop
map: layout
mask: predicate
matmul: gemm
matrix_multiplication: gemm
matrix_product: gemm
maximum: max
mbarrier: clustertransactionbarrier clusterbarrier
measure: timer
minimum: min
mixture: grouped
mma: gemm
modify: update replace
moe: grouped
multi_gpu: distributed
multicast: mcast
multiply: mul multiplies
multiply_accumulate: fma multiply_add
neighbour: peer
number: num count
notify: arrive
overwrite: zero
parameter: params args
parity: phase
pdl: griddepcontrol
peer: remote
pending: outstanding
persistent: tilescheduler
pointer: ptr
power_of_two: pow2
predicate: pred
problem_size: problem_shape
product: gemm
profile: timer
quantize: dequantize scale
raster: swizzle
ready: wait
regs: register
register: reg rmem
register_memory: rmem
reinterpret: recast
remainder: residue tail
remote: peer
residue: tail
save: store
scalar: universal
scale_factor: sf scaling
scratch: workspace
setmaxnreg: reg_alloc reg_dealloc
shared_memory: smem
signal: arrive
sms: multiprocessor sm_count
sparse: sparsity
sparsity: sparse
split: divide
stmatrix: stsm
subtract: minus
synchronize: sync
tensor_core: mma
tensor_map: tensormap descriptor
tensor_memory: tmem
tensormap: descriptor
tf32: tfloat32
thread_block: cta threadblock
time: timer elapsed
tolerance: epsilon relatively
transaction: tx
transpose: trans
turing: sm75
update: replace modify
validate: verify compare
verify: compare reference
view: recast reinterpret
visitor: evt
volta: sm70
warp_group: warpgroup
warpgroup: wgmma gmma
wgmma: gmma
xor: swizzle
"""


class Group(NamedTuple):
    """One thing that is asked for: the word itself, and what means the same."""

    word: str
    same: tuple[str, ...]
    joined: bool


def parts(identifier: str) -> tuple[str, ...]:
    """The words of an identifier in lower case; nothing for one that is a single word."""
    found = [part for piece in identifier.split("_") for part in _humps(piece)]
    return tuple(found) if len(found) > 1 else ()


@lru_cache(1 << 16)
def _humps(piece: str) -> tuple[str, ...]:
    """The words of what stands between underscores; the same pieces recur in many identifiers."""
    return tuple(part.lower() for part in _PART.findall(piece))


@lru_cache(1 << 16)
def stem(word: str) -> str:
    """`word`, in lower case, without the endings that vary; identifiers stay as they are."""
    if len(word) < 5 or not word.isalpha():
        return word
    if word.endswith("ies") and len(word) > 6:
        word = f"{word[:-3]}y"
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    if ("is" in word or "iz" in word) and (found := _IZE.fullmatch(word)):
        word = found[1]
    for ending, least in _ENDINGS:
        if word.endswith(ending) and len(word) >= least:
            word = word[: -len(ending)]
            if word[-1] == word[-2] and word[-1] not in "ls":
                word = word[:-1]
    if len(word) > 4:
        word = word.removesuffix("e")
    if len(word) > 6:
        word = word.removesuffix("at")
    return _IRREGULAR.get(word, word)


_IZE = re.compile(r"([a-z]{4,}?)(?:is|iz)(?:e|ed|er|ing|ation)")
_ENDINGS = (("ing", 7), ("ed", 6), ("er", 6), ("or", 7), ("ion", 7), ("ment", 8))
_IRREGULAR = {
    "composit": "compos", "convers": "convert", "divis": "divid", "indic": "index",
    "matric": "matrix", "multiplic": "multiply", "reduct": "reduc", "transposit": "transpos",
}  # fmt: skip


def terms(text: str) -> set[str]:
    """Identifiers of `text`, whole and in parts, as the index keeps them."""
    runs = set(text.encode().translate(_APART).split())
    return set(chain.from_iterable(map(_TERMS.__getitem__, runs)))


class _Terms(dict[bytes, tuple[str, ...]]):
    """What a run of word characters is kept as, made once: they recur all over a tree."""

    def __missing__(self, run: bytes) -> tuple[str, ...]:
        words: list[str] = []
        for one in IDENTIFIER.findall(run.decode()):
            if one not in BOILERPLATE:
                words += (one.lower(), *parts(one))
        found = self[run] = tuple(map(stem, words))
        return found


_TERMS = _Terms()
_APART = bytes(
    at if at >= 128 or chr(at).isalnum() or chr(at) == "_" else ord(" ") for at in range(256)
)
"""Bytes of UTF-8 as they are, but for blanks in place of what no word holds."""


def groups(question: str) -> list[Group]:
    """What `question` asks for, in its order, without filler words and repetitions."""
    same = _same()
    found: dict[str, Group] = {}
    words = _WORD.findall(question.replace("::", " "))
    plain = [word.lower() for word in words]
    for at, word in enumerate(plain):
        pair = plain[at : at + 2]
        if len(pair) == 2:
            joined = "".join(pair)
            meant = same.get("_".join(map(stem, pair)), ())
            if "-" in question or meant or not STOP & set(pair):
                found.setdefault(f"+{joined}", Group(joined, meant, True))
        if word in STOP or len(word) < 2:
            continue
        for one in (word, *parts(words[at])):
            if len(one) > 1 and (one == word or one not in STOP):
                meant = tuple(other for other in same.get(stem(one), ()) if other != one)
                found.setdefault(one, Group(one, meant, False))
    return list(found.values())


@cache
def _same() -> dict[str, tuple[str, ...]]:
    """What CUTLASS calls a word or a pair of words, by their stems."""
    found = {}
    for line in _LIKE.strip().splitlines():
        words, _, others = line.partition(":")
        found["_".join(map(stem, words.split("_")))] = tuple(others.split())
    return found
