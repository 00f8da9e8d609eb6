"""Word lists: words to ignore in questions and in code, and synonyms between people and CUTLASS."""

from __future__ import annotations

_STOP_WORDS = """
a about after all also an and any are as at be before between but by can code could cuda cute
cutlass define defined do does each example file find for from get give given has have how i if
in into is it its kind let like look made make makes me my need needs not of on one only or our
out own part per put see should show so some such take that the their them then there these they
this to two use used uses using want way we what when where which while who why will with
without would write you your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())

_BOILERPLATE = """
CUTLASS_HOST_DEVICE CUTLASS_DEVICE CUTE_HOST_DEVICE CUTE_DEVICE CUTE_HOST CUTLASS_PRAGMA_UNROLL
CUTE_UNROLL CUTLASS_PRAGMA_NO_UNROLL CUTE_NO_UNROLL CUTLASS_CONSTEXPR_IF_CXX17 template typename
class struct static constexpr const int return void using bool auto else unsigned operator
public private inline true false namespace cutlass cute this sizeof decltype static_assert
static_cast reinterpret_cast include define endif ifdef
"""
BOILERPLATE = frozenset(_BOILERPLATE.split())
"""Identifiers that occur nearly everywhere and distinguish nothing."""

_SYNONYMS = """
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
SYNONYMS = {
    words: tuple(others.split())
    for words, _, others in (line.partition(":") for line in _SYNONYMS.strip().splitlines())
}
"""What CUTLASS calls a word, or words joined by ``_``."""
