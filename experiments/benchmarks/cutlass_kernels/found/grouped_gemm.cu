/* rooftree
launcher = "grouped_gemm"
args = ["x", "w", "ends", "y", "rows", "n", "k", "experts", "stream"]
init = []
failure = "why"
where = ["STAGES * (16384 + MAX_ROWS * 128) <= 205000"]

[[input]]
name = "x"
dtype = "bfloat16"
shape = ["rows", "k"]

[[input]]
name = "w"
dtype = "bfloat16"
shape = ["experts", "n", "k"]

[[input]]
name = "ends"
dtype = "int32"
shape = ["experts"]

[[output]]
name = "y"
dtype = "bfloat16"
shape = ["rows", "n"]

[tunables]
STAGES = { values = [3, 4, 5], default = 4, methods = ["latency.mbarrier_pipeline"], help = "stages of the pipeline" }
MAX_ROWS = { values = [192, 256], default = 256, methods = ["compute.wgmma"], help = "most rows of x in one tile" }
X_KEEP = { values = [0, 1], default = 0, methods = ["memory.cache_hints"], help = "1: rows of x are loaded with evict-last" }
*/
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <cstdint>
#include <cstddef>
#include <cstring>

namespace {

constexpr int kMaxExperts = 128;
constexpr int kThreads = 384;
constexpr int kBlockK = 64;
constexpr int kLanes = 96;                                  // threads that deal tiles: most clusters
constexpr int kWaves = 128;                                 // waves that are dealt by load
constexpr int kWBytes = 128 * kBlockK * 2;                  // 128 rows of w
constexpr int kStageBytes = kWBytes + MAX_ROWS * kBlockK * 2;
constexpr int kOutBytes = 64 * 128;                         // per consumer warpgroup
constexpr int kDynamicBytes = 1024 + STAGES * kStageBytes + 2 * kOutBytes;
constexpr uint64_t kEvictNormal = 0x1000000000000000ull;
constexpr uint64_t kEvictFirst = 0x12F0000000000000ull;
constexpr uint64_t kEvictLast = 0x14F0000000000000ull;

struct Maps {
    CUtensorMap w;
    CUtensorMap x[16];   // boxes of 8, 16, ..., 128 rows
};

// ---------------------------------------------------------------- wgmma

#define RF_S0 "%0,%1,%2,%3"
#define RF_S1 "%4,%5,%6,%7"
#define RF_S2 "%8,%9,%10,%11"
#define RF_S3 "%12,%13,%14,%15"
#define RF_S4 "%16,%17,%18,%19"
#define RF_S5 "%20,%21,%22,%23"
#define RF_S6 "%24,%25,%26,%27"
#define RF_S7 "%28,%29,%30,%31"
#define RF_S8 "%32,%33,%34,%35"
#define RF_S9 "%36,%37,%38,%39"
#define RF_S10 "%40,%41,%42,%43"
#define RF_S11 "%44,%45,%46,%47"
#define RF_S12 "%48,%49,%50,%51"
#define RF_S13 "%52,%53,%54,%55"
#define RF_S14 "%56,%57,%58,%59"
#define RF_S15 "%60,%61,%62,%63"
#define RF_S16 "%64,%65,%66,%67"
#define RF_S17 "%68,%69,%70,%71"
#define RF_S18 "%72,%73,%74,%75"
#define RF_S19 "%76,%77,%78,%79"
#define RF_S20 "%80,%81,%82,%83"
#define RF_S21 "%84,%85,%86,%87"
#define RF_S22 "%88,%89,%90,%91"
#define RF_S23 "%92,%93,%94,%95"
#define RF_S24 "%96,%97,%98,%99"
#define RF_S25 "%100,%101,%102,%103"
#define RF_S26 "%104,%105,%106,%107"
#define RF_S27 "%108,%109,%110,%111"
#define RF_S28 "%112,%113,%114,%115"
#define RF_S29 "%116,%117,%118,%119"
#define RF_S30 "%120,%121,%122,%123"
#define RF_S31 "%124,%125,%126,%127"

#define RF_C1 RF_S0
#define RF_C2 RF_C1 "," RF_S1
#define RF_C3 RF_C2 "," RF_S2
#define RF_C4 RF_C3 "," RF_S3
#define RF_C5 RF_C4 "," RF_S4
#define RF_C6 RF_C5 "," RF_S5
#define RF_C7 RF_C6 "," RF_S6
#define RF_C8 RF_C7 "," RF_S7
#define RF_C9 RF_C8 "," RF_S8
#define RF_C10 RF_C9 "," RF_S9
#define RF_C11 RF_C10 "," RF_S10
#define RF_C12 RF_C11 "," RF_S11
#define RF_C13 RF_C12 "," RF_S12
#define RF_C14 RF_C13 "," RF_S13
#define RF_C15 RF_C14 "," RF_S14
#define RF_C16 RF_C15 "," RF_S15
#define RF_C17 RF_C16 "," RF_S16
#define RF_C18 RF_C17 "," RF_S17
#define RF_C19 RF_C18 "," RF_S18
#define RF_C20 RF_C19 "," RF_S19
#define RF_C21 RF_C20 "," RF_S20
#define RF_C22 RF_C21 "," RF_S21
#define RF_C23 RF_C22 "," RF_S22
#define RF_C24 RF_C23 "," RF_S23
#define RF_C25 RF_C24 "," RF_S24
#define RF_C26 RF_C25 "," RF_S25
#define RF_C27 RF_C26 "," RF_S26
#define RF_C28 RF_C27 "," RF_S27
#define RF_C29 RF_C28 "," RF_S28
#define RF_C30 RF_C29 "," RF_S29
#define RF_C31 RF_C30 "," RF_S30
#define RF_C32 RF_C31 "," RF_S31

#define RF_Q(i) "+f"(d[4 * i]), "+f"(d[4 * i + 1]), "+f"(d[4 * i + 2]), "+f"(d[4 * i + 3])

#define RF_O1 RF_Q(0)
#define RF_O2 RF_O1, RF_Q(1)
#define RF_O3 RF_O2, RF_Q(2)
#define RF_O4 RF_O3, RF_Q(3)
#define RF_O5 RF_O4, RF_Q(4)
#define RF_O6 RF_O5, RF_Q(5)
#define RF_O7 RF_O6, RF_Q(6)
#define RF_O8 RF_O7, RF_Q(7)
#define RF_O9 RF_O8, RF_Q(8)
#define RF_O10 RF_O9, RF_Q(9)
#define RF_O11 RF_O10, RF_Q(10)
#define RF_O12 RF_O11, RF_Q(11)
#define RF_O13 RF_O12, RF_Q(12)
#define RF_O14 RF_O13, RF_Q(13)
#define RF_O15 RF_O14, RF_Q(14)
#define RF_O16 RF_O15, RF_Q(15)
#define RF_O17 RF_O16, RF_Q(16)
#define RF_O18 RF_O17, RF_Q(17)
#define RF_O19 RF_O18, RF_Q(18)
#define RF_O20 RF_O19, RF_Q(19)
#define RF_O21 RF_O20, RF_Q(20)
#define RF_O22 RF_O21, RF_Q(21)
#define RF_O23 RF_O22, RF_Q(22)
#define RF_O24 RF_O23, RF_Q(23)
#define RF_O25 RF_O24, RF_Q(24)
#define RF_O26 RF_O25, RF_Q(25)
#define RF_O27 RF_O26, RF_Q(26)
#define RF_O28 RF_O27, RF_Q(27)
#define RF_O29 RF_O28, RF_Q(28)
#define RF_O30 RF_O29, RF_Q(29)
#define RF_O31 RF_O30, RF_Q(30)
#define RF_O32 RF_O31, RF_Q(31)

// U: units of 8 columns.
template <int U>
struct Mma;

#define RF_MMA(U, N, REGS, OUTS, A, B, P)                                              \
    template <>                                                                        \
    struct Mma<U> {                                                                    \
        static __device__ __forceinline__ void run(float (&d)[4 * U], uint64_t a,      \
                                                   uint64_t b)                         \
        {                                                                              \
            asm volatile("{\n"                                                         \
                         ".reg .pred p;\n"                                             \
                         "setp.ne.b32 p, " P ", 0;\n"                                  \
                         "wgmma.mma_async.sync.aligned.m64n" #N                        \
                         "k16.f32.bf16.bf16 {" REGS "}, " A ", " B                     \
                         ", p, 1, 1, 0, 0;\n"                                          \
                         "}\n"                                                         \
                         : OUTS                                                        \
                         : "l"(a), "l"(b), "r"(1)                                      \
                         : "memory");                                                  \
        }                                                                              \
    };

RF_MMA(1, 8, RF_C1, RF_O1, "%4", "%5", "%6")
RF_MMA(2, 16, RF_C2, RF_O2, "%8", "%9", "%10")
RF_MMA(3, 24, RF_C3, RF_O3, "%12", "%13", "%14")
RF_MMA(4, 32, RF_C4, RF_O4, "%16", "%17", "%18")
RF_MMA(5, 40, RF_C5, RF_O5, "%20", "%21", "%22")
RF_MMA(6, 48, RF_C6, RF_O6, "%24", "%25", "%26")
RF_MMA(7, 56, RF_C7, RF_O7, "%28", "%29", "%30")
RF_MMA(8, 64, RF_C8, RF_O8, "%32", "%33", "%34")
RF_MMA(9, 72, RF_C9, RF_O9, "%36", "%37", "%38")
RF_MMA(10, 80, RF_C10, RF_O10, "%40", "%41", "%42")
RF_MMA(11, 88, RF_C11, RF_O11, "%44", "%45", "%46")
RF_MMA(12, 96, RF_C12, RF_O12, "%48", "%49", "%50")
RF_MMA(13, 104, RF_C13, RF_O13, "%52", "%53", "%54")
RF_MMA(14, 112, RF_C14, RF_O14, "%56", "%57", "%58")
RF_MMA(15, 120, RF_C15, RF_O15, "%60", "%61", "%62")
RF_MMA(16, 128, RF_C16, RF_O16, "%64", "%65", "%66")
RF_MMA(17, 136, RF_C17, RF_O17, "%68", "%69", "%70")
RF_MMA(18, 144, RF_C18, RF_O18, "%72", "%73", "%74")
RF_MMA(19, 152, RF_C19, RF_O19, "%76", "%77", "%78")
RF_MMA(20, 160, RF_C20, RF_O20, "%80", "%81", "%82")
RF_MMA(21, 168, RF_C21, RF_O21, "%84", "%85", "%86")
RF_MMA(22, 176, RF_C22, RF_O22, "%88", "%89", "%90")
RF_MMA(23, 184, RF_C23, RF_O23, "%92", "%93", "%94")
RF_MMA(24, 192, RF_C24, RF_O24, "%96", "%97", "%98")
RF_MMA(25, 200, RF_C25, RF_O25, "%100", "%101", "%102")
RF_MMA(26, 208, RF_C26, RF_O26, "%104", "%105", "%106")
RF_MMA(27, 216, RF_C27, RF_O27, "%108", "%109", "%110")
RF_MMA(28, 224, RF_C28, RF_O28, "%112", "%113", "%114")
RF_MMA(29, 232, RF_C29, RF_O29, "%116", "%117", "%118")
RF_MMA(30, 240, RF_C30, RF_O30, "%120", "%121", "%122")
RF_MMA(31, 248, RF_C31, RF_O31, "%124", "%125", "%126")
RF_MMA(32, 256, RF_C32, RF_O32, "%128", "%129", "%130")

__device__ __forceinline__ void wgmma_fence()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void wgmma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int LEFT>
__device__ __forceinline__ void wgmma_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
}

// K-major tile, rows of 128 bytes, 128-byte swizzle, groups of 8 rows 1024 bytes apart.
__device__ __forceinline__ uint64_t descriptor(uint32_t address)
{
    return (uint64_t)((address & 0x3FFFFu) >> 4) | ((uint64_t)1 << 16) | ((uint64_t)64 << 32) |
           ((uint64_t)1 << 62);
}

// ---------------------------------------------------------------- barriers and copies

__device__ __forceinline__ uint32_t shared_address(const void* p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

__device__ __forceinline__ void barrier_init(uint32_t bar, uint32_t count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory");
}

__device__ __forceinline__ void barrier_wait(uint32_t bar, uint32_t parity)
{
    uint32_t done;
    do {
        asm volatile("{\n"
                     ".reg .pred p;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, p;\n"
                     "}\n"
                     : "=r"(done)
                     : "r"(bar), "r"(parity)
                     : "memory");
    } while (!done);
}

__device__ __forceinline__ void barrier_expect(uint32_t bar, uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes)
                 : "memory");
}

// Lanes 0 and 1 arrive at the barrier of block 0 and of block 1 of the cluster.
__device__ __forceinline__ void release_both(uint32_t bar, uint32_t lane)
{
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 ".reg .b32 r;\n"
                 "setp.lt.u32 p, %1, 2;\n"
                 "@p mapa.shared::cluster.u32 r, %0, %1;\n"
                 "@p mbarrier.arrive.shared::cluster.b64 _, [r];\n"
                 "}\n" ::"r"(bar),
                 "r"(lane)
                 : "memory");
}

__device__ __forceinline__ void load_tile(uint32_t to, const CUtensorMap* map, int c0, int c1,
                                          uint32_t bar, uint64_t hint)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".L2::cache_hint [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
                 "l"((uint64_t)map), "r"(c0), "r"(c1), "r"(bar), "l"(hint)
                 : "memory");
}

__device__ __forceinline__ void load_tile_both(uint32_t to, const CUtensorMap* map, int c0, int c1,
                                               uint32_t bar, uint64_t hint)
{
    const uint16_t mask = 3;
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".multicast::cluster.L2::cache_hint [%0], [%1, {%2, %3}], [%4], %5, %6;" ::"r"(to),
                 "l"((uint64_t)map), "r"(c0), "r"(c1), "r"(bar), "h"(mask), "l"(hint)
                 : "memory");
}

__device__ __forceinline__ void cluster_sync()
{
    asm volatile("barrier.cluster.arrive.release;\n"
                 "barrier.cluster.wait.acquire;\n" ::: "memory");
}

__device__ __forceinline__ void group_sync(int id)
{
    asm volatile("bar.sync %0, 128;" ::"r"(id) : "memory");
}

__device__ __forceinline__ void dealers_sync()
{
    asm volatile("bar.sync 3, 96;" ::: "memory");
}

__device__ __forceinline__ uint32_t pack(float low, float high)
{
    __nv_bfloat162 v = __floats2bfloat162_rn(low, high);
    uint32_t r;
    memcpy(&r, &v, 4);
    return r;
}

// ---------------------------------------------------------------- tiles

// Piece xt of an expert's `all` units of 8 rows, which `sp` pieces share in steps of 16 rows.
__device__ __forceinline__ void piece(int all, int sp, int xt, int& first, int& units)
{
    const int pairs = (all + 1) >> 1;
    const int pb = pairs / sp;
    const int pr = pairs - pb * sp;
    first = 2 * (xt * pb + min(xt, pr));
    units = 2 * (pb + (xt < pr ? 1 : 0)) - (xt == sp - 1 ? (all & 1) : 0);
}

// The tile of this cluster in a wave; it may lie behind the last.
__device__ __forceinline__ int tile_of(uint32_t schedule, int wave, int base, int clusters,
                                       int mine)
{
    if (wave == 0)
        return mine;
    if (wave >= kWaves)
        return base + ((wave & 1) ? clusters - 1 - mine : mine);
    int v;
    do {
        asm volatile("ld.volatile.shared.s32 %0, [%1];" : "=r"(v) : "r"(schedule + 4 * wave)
                     : "memory");
    } while (v < 0);
    return v;
}

// ---------------------------------------------------------------- one tile of a consumer

// 64 columns of y (rows of w) times 8 * U rows of x.
template <int U>
__device__ __forceinline__ void consume(uint32_t tiles, uint32_t full, uint32_t empty, uint32_t out,
                                        int kblocks, int& stage, uint32_t& phase,
                                        __nv_bfloat16* y, int n, int valid, int group, int tid)
{
    constexpr int ROWS_HERE = 8 * U;
    const uint32_t lane = tid & 31;
    float d[4 * U];
#pragma unroll
    for (int i = 0; i < 4 * U; ++i)
        d[i] = 0.0f;
#pragma unroll
    for (int i = 0; i < 4 * U; ++i)
        asm volatile("" : "+f"(d[i])::"memory");

    int before = 0;
#pragma unroll 1
    for (int kb = 0; kb < kblocks; ++kb) {
        barrier_wait(full + 8 * stage, phase);
        const uint32_t base = tiles + stage * kStageBytes;
        const uint64_t a = descriptor(base + group * 8192);
        const uint64_t b = descriptor(base + kWBytes);
        wgmma_fence();
#pragma unroll
        for (int kk = 0; kk < 4; ++kk)
            Mma<U>::run(d, a + 2 * kk, b + 2 * kk);
        wgmma_commit();
        wgmma_wait<1>();
        if (kb > 0)
            release_both(empty + 8 * before, lane);
        before = stage;
        if (++stage == STAGES) {
            stage = 0;
            phase ^= 1;
        }
    }
    wgmma_wait<0>();
#pragma unroll
    for (int i = 0; i < 4 * U; ++i)
        asm volatile("" : "+f"(d[i])::"memory");
    release_both(empty + 8 * before, lane);

    // Transposed through shared memory, 64 rows of y at a time.
    const int warp = tid >> 5;
    const int mat = lane >> 3;
    const int i8 = lane & 7;
    const uint32_t put =
        out + ((mat >> 1) * 8 + i8) * 128 + (((warp * 2 + (mat & 1)) ^ i8) << 4);
#pragma unroll
    for (int c = 0; c < ROWS_HERE; c += 64) {
        group_sync(1 + group);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            if (c + 16 * j < ROWS_HERE) {
                const int f = (c + 16 * j) / 2;
                const uint32_t r0 = pack(d[f], d[f + 1]);
                const uint32_t r1 = pack(d[f + 2], d[f + 3]);
                uint32_t r2 = 0, r3 = 0;
                if (c + 16 * j + 8 < ROWS_HERE) {
                    r2 = pack(d[f + 4], d[f + 5]);
                    r3 = pack(d[f + 6], d[f + 7]);
                }
                asm volatile(
                    "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                        put + j * 16 * 128),
                    "r"(r0), "r"(r1), "r"(r2), "r"(r3)
                    : "memory");
            }
        }
        group_sync(1 + group);
        constexpr int ALL = ROWS_HERE;
        const int count = ALL - c < 64 ? ALL - c : 64;
#pragma unroll
        for (int u = 0; u < 4; ++u) {
            const int v = u * 128 + tid;
            const int row = v >> 3;
            const int q = v & 7;
            if (row < count && c + row < valid) {
                uint4 t;
                asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                             : "=r"(t.x), "=r"(t.y), "=r"(t.z), "=r"(t.w)
                             : "r"(out + row * 128 + ((q ^ (row & 7)) << 4))
                             : "memory");
                __stcs(reinterpret_cast<uint4*>(y + (size_t)(c + row) * n + q * 8), t);
            }
        }
    }
}

// ---------------------------------------------------------------- the kernel

__global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(kThreads, 1)
    grouped(const __grid_constant__ Maps maps, const int* __restrict__ ends,
            __nv_bfloat16* __restrict__ y, int rows, int n, int k, int experts)
{
    extern __shared__ uint8_t raw[];
    __shared__ __align__(8) uint64_t full_bars[STAGES];
    __shared__ __align__(8) uint64_t empty_bars[STAGES];
    __shared__ int t_pairs[kMaxExperts], t_split[kMaxExperts];
    __shared__ int t_key[kMaxExperts], t_tiles[kMaxExperts];
    __shared__ int s_expert[kMaxExperts], s_begin[kMaxExperts], s_end[kMaxExperts];
    __shared__ int s_units[kMaxExperts], s_split[kMaxExperts], s_start[kMaxExperts + 1];
    __shared__ int s_schedule[kWaves];
    __shared__ int l_load[2 * kLanes], l_width[2 * kLanes], l_tile[2 * kLanes];

    const uint32_t tiles = (shared_address(raw) + 1023u) & ~1023u;
    const uint32_t full = shared_address(full_bars);
    const uint32_t empty = shared_address(empty_bars);
    const uint32_t schedule = shared_address(s_schedule);
    const int wgroup = __shfl_sync(0xffffffffu, (int)(threadIdx.x >> 7), 0);
    uint32_t rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));

    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) {
            barrier_init(full + 8 * s, 1);
            barrier_init(empty + 8 * s, 16);   // 8 consumer warps of each of 2 blocks
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("prefetch.tensormap [%0];" ::"l"((uint64_t)&maps.w) : "memory");
    }
    for (int i = threadIdx.x; i < kWaves; i += kThreads)
        s_schedule[i] = -1;

    const int clusters = gridDim.x >> 1;
    const int mine = blockIdx.x >> 1;

    // Every block makes the same table: experts by falling width of their tiles.
    const int wtiles = n / 256;
    const int e = threadIdx.x;
    int begin = 0, end = 0, split = 0, units_all = 0, pairs_all = 0, key = 0;
    if (e < experts) {
        begin = e > 0 ? min(max(ends[e - 1], 0), rows) : 0;
        end = min(max(ends[e], 0), rows);
        const int count = max(end - begin, 0);
        units_all = (count + 7) >> 3;
        pairs_all = (units_all + 1) >> 1;
        split = (pairs_all + MAX_ROWS / 16 - 1) / (MAX_ROWS / 16);
        t_pairs[e] = pairs_all;
        t_split[e] = split;
    }
    __syncthreads();
    if (e < experts) {
        // Some of the largest experts take one tile more, if that fills the last wave.
        int whole = 0, able = 0, ahead = 0;
        for (int f = 0; f < experts; ++f) {
            const int fp = t_pairs[f];
            const int fs = t_split[f];
            whole += fs;
            if (fs > 0 && fp >= 8 * (fs + 1)) {
                ++able;
                if (fp > pairs_all || (fp == pairs_all && f < e))
                    ++ahead;
            }
        }
        const int most = min(able, 6);
        int more = 0, least = 0x7fffffff;
        for (int j = 0; j <= most; ++j) {
            const int left = ((whole + j) * wtiles) % clusters;
            const int cost = (left > 0 ? clusters - left : 0) + 2 * j;
            if (cost < least) {
                least = cost;
                more = j;
            }
        }
        if (split > 0 && pairs_all >= 8 * (split + 1) && ahead < more)
            ++split;
        key = split > 0 ? pairs_all * 16 / split : 0;
        t_key[e] = key;
        t_tiles[e] = split * wtiles;
    }
    __syncthreads();
    if (e < experts) {
        int position = 0, start = 0, total = 0;
        for (int f = 0; f < experts; ++f) {
            const int fk = t_key[f];
            const int ft = t_tiles[f];
            const bool before = fk > key || (fk == key && f < e);
            position += before ? 1 : 0;
            start += before ? ft : 0;
            total += ft;
        }
        s_expert[position] = e;
        s_begin[position] = begin;
        s_end[position] = end;
        s_units[position] = units_all;
        s_split[position] = split;
        s_start[position] = start;
        if (e == 0)
            s_start[experts] = total;
    }
    __syncthreads();
    cluster_sync();

    const int total = s_start[experts];
    const int kblocks = k / kBlockK;
    int stage = 0;
    uint32_t phase = 0;
    int at = 0;

    if (wgroup == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0) {
            for (int wave = 0;; ++wave) {
                const int base = wave * clusters;
                if (base >= total)
                    break;
                const int index = tile_of(schedule, wave, base, clusters, mine);
                if (index >= total)
                    continue;
                while (s_start[at + 1] <= index)
                    ++at;
                const int local = index - s_start[at];
                const int sp = s_split[at];
                const int wt = local / sp;
                const int xt = local - wt * sp;
                int first, units;
                piece(s_units[at], sp, xt, first, units);
                const int head = (units + 1) >> 1;              // units that rank 0 loads
                const int part = rank == 0 ? head : units - head;
                const int xrow = s_begin[at] + (first + (int)rank * head) * 8;
                const int wrow = s_expert[at] * n + wt * 256 + (int)rank * 128;
                const CUtensorMap* xmap = &maps.x[max(part, 1) - 1];
                const uint32_t bytes = kWBytes + units * 1024;
                const uint32_t offset = kWBytes + rank * head * 1024;
                const uint64_t whint = sp == 1 ? kEvictFirst : kEvictNormal;
                const uint64_t xhint = X_KEEP ? kEvictLast : kEvictNormal;
                for (int kb = 0; kb < kblocks; ++kb) {
                    barrier_wait(empty + 8 * stage, phase ^ 1);
                    const uint32_t bar = full + 8 * stage;
                    const uint32_t to = tiles + stage * kStageBytes;
                    barrier_expect(bar, bytes);
                    load_tile(to, &maps.w, kb * kBlockK, wrow, bar, whint);
                    if (part > 0)
                        load_tile_both(to + offset, xmap, kb * kBlockK, xrow, bar, xhint);
                    if (++stage == STAGES) {
                        stage = 0;
                        phase ^= 1;
                    }
                }
            }
        } else if (threadIdx.x >= 32) {
            // The other warps deal the coming waves: the widest tile of a wave goes to the
            // cluster with the least work so far. All blocks come to the same result.
            const int t = (int)threadIdx.x - 32;
            const bool real = t < clusters;
            int load = 0;
            for (int wave = 0; wave < kWaves; ++wave) {
                const int base = wave * clusters;
                if (base >= total)
                    break;
                const int index = base + t;
                int width = 0;
                if (real && index < total) {
                    while (s_start[at + 1] <= index)
                        ++at;
                    const int sp = s_split[at];
                    const int xt = (index - s_start[at]) % sp;
                    int first;
                    piece(s_units[at], sp, xt, first, width);
                }
                if (wave == 0) {
                    load = width;
                    continue;
                }
                const int b = (wave & 1) * kLanes;
                l_load[b + t] = load;
                l_width[b + t] = width;
                dealers_sync();
                int by_load = 0, by_width = 0;
#pragma unroll 2
                for (int u = 0; u < clusters; ++u) {
                    const int lu = l_load[b + u];
                    const int wu = l_width[b + u];
                    by_load += (lu < load || (lu == load && u < t)) ? 1 : 0;
                    by_width += (wu > width || (wu == width && u < t)) ? 1 : 0;
                }
                if (real)
                    l_tile[b + by_width] = t;
                dealers_sync();
                if (real) {
                    const int got = l_tile[b + by_load];
                    load += l_width[b + got];
                    if (t == mine)
                        asm volatile("st.volatile.shared.s32 [%0], %1;" ::"r"(schedule + 4 * wave),
                                     "r"(base + got)
                                     : "memory");
                }
            }
        }
        __syncwarp();
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        const int group = wgroup - 1;
        const int tid = threadIdx.x & 127;
        const uint32_t out = tiles + STAGES * kStageBytes + group * kOutBytes;
        for (int wave = 0;; ++wave) {
            const int base = wave * clusters;
            if (base >= total)
                break;
            int index = tile_of(schedule, wave, base, clusters, mine);
            __syncwarp();
            index = __shfl_sync(0xffffffffu, index, 0);
            if (index >= total)
                continue;
            while (s_start[at + 1] <= index)
                ++at;
            const int local = index - s_start[at];
            const int sp = s_split[at];
            const int wt = local / sp;
            const int xt = local - wt * sp;
            int first, units;
            piece(s_units[at], sp, xt, first, units);
            const int xrow = s_begin[at] + first * 8;
            const int valid = min(units * 8, s_end[at] - xrow);
            __nv_bfloat16* to =
                y + (size_t)xrow * n + wt * 256 + (int)rank * 128 + group * 64;
#define RF_CASE(U)                                                                          \
    case U:                                                                                 \
        consume<U>(tiles, full, empty, out, kblocks, stage, phase, to, n, valid, group, tid); \
        break;
            switch (__shfl_sync(0xffffffffu, units, 0)) {
                RF_CASE(1)
                RF_CASE(2)
                RF_CASE(3)
                RF_CASE(4)
                RF_CASE(5)
                RF_CASE(6)
                RF_CASE(7)
                RF_CASE(8)
                RF_CASE(9)
                RF_CASE(10)
                RF_CASE(11)
                RF_CASE(12)
                RF_CASE(13)
                RF_CASE(14)
                RF_CASE(15)
                RF_CASE(16)
                RF_CASE(17)
                RF_CASE(18)
                RF_CASE(19)
                RF_CASE(20)
                RF_CASE(21)
                RF_CASE(22)
                RF_CASE(23)
                RF_CASE(24)
#if MAX_ROWS > 192
                RF_CASE(25)
                RF_CASE(26)
                RF_CASE(27)
                RF_CASE(28)
                RF_CASE(29)
                RF_CASE(30)
                RF_CASE(31)
                RF_CASE(32)
#endif
                default:
                    break;
            }
        }
    }
    // No block leaves while the other may still signal its barriers.
    cluster_sync();
}

// ---------------------------------------------------------------- host

typedef CUresult (*EncodeFn)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*,
                             const cuuint64_t*, const cuuint64_t*, const cuuint32_t*,
                             const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                             CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

const char* reason = "no error";

EncodeFn encoder()
{
    static EncodeFn fn = nullptr;
    if (fn == nullptr) {
        void* p = nullptr;
        cudaDriverEntryPointQueryResult found;
#if CUDART_VERSION >= 12050
        cudaError_t err = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &p, 12000,
                                                           cudaEnableDefault, &found);
#else
        cudaError_t err =
            cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &p, cudaEnableDefault, &found);
#endif
        if (err == cudaSuccess && found == cudaDriverEntryPointSuccess)
            fn = reinterpret_cast<EncodeFn>(p);
    }
    return fn;
}

bool encode(CUtensorMap* map, const void* data, long long height, int k, int box_rows)
{
    EncodeFn fn = encoder();
    if (fn == nullptr)
        return false;
    const cuuint64_t dims[2] = {(cuuint64_t)k, (cuuint64_t)height};
    const cuuint64_t strides[1] = {(cuuint64_t)k * 2};
    const cuuint32_t box[2] = {(cuuint32_t)kBlockK, (cuuint32_t)box_rows};
    const cuuint32_t steps[2] = {1, 1};
    return fn(map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<void*>(data), dims, strides, box,
              steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
              CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
              CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

}  // namespace

extern "C" const char* why()
{
    return reason;
}

extern "C" int grouped_gemm(const __nv_bfloat16* x, const __nv_bfloat16* w, const int* ends,
                            __nv_bfloat16* y, int rows, int n, int k, int experts,
                            cudaStream_t stream)
{
    static Maps maps;
    static const void* kept_x = nullptr;
    static const void* kept_w = nullptr;
    static int kept_rows = -1, kept_n = -1, kept_k = -1, kept_experts = -1;
    static int sms = 0;

    if (rows == 0 || n == 0 || experts == 0)
        return 0;
    if (n % 256 != 0 || k <= 0 || k % kBlockK != 0) {
        reason = "N must be a multiple of 256 and K one of 64";
        return 1;
    }
    if (experts > kMaxExperts || (long long)experts * n > 0x7fffffffLL) {
        reason = "too many experts";
        return 1;
    }
    if (sms == 0) {
        int device = 0, count = 0;
        cudaError_t err = cudaGetDevice(&device);
        if (err == cudaSuccess)
            err = cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
        if (err == cudaSuccess)
            err = cudaFuncSetAttribute(grouped, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       kDynamicBytes);
        if (err != cudaSuccess || count < 2) {
            reason = err != cudaSuccess ? cudaGetErrorString(err) : "too few multiprocessors";
            return 1;
        }
        sms = count;
    }
    if (kept_x != x || kept_w != w || kept_rows != rows || kept_n != n || kept_k != k ||
        kept_experts != experts) {
        kept_x = nullptr;
        kept_rows = -1;
        bool good = encode(&maps.w, w, (long long)experts * n, k, 128);
        for (int i = 0; i < 16 && good; ++i)
            good = encode(&maps.x[i], x, rows, k, 8 * (i + 1));
        if (!good) {
            reason = "a tensor map could not be made";
            return 1;
        }
        kept_x = x;
        kept_w = w;
        kept_rows = rows;
        kept_n = n;
        kept_k = k;
        kept_experts = experts;
    }
    const int pairs = sms / 2 < kLanes ? sms / 2 : kLanes;
    grouped<<<pairs * 2, kThreads, kDynamicBytes, stream>>>(maps, ends, y, rows, n, k, experts);
    const cudaError_t err = cudaGetLastError();
    if (err != cudaSuccess) {
        reason = cudaGetErrorString(err);
        return 1;
    }
    return 0;
}
