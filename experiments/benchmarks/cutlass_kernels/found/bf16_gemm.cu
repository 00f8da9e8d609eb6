/* rooftree
launcher = "gemm_bf16"
args = ["a", "b", "c", "m", "n", "k", "stream"]
failure = "why"

[[input]]
name = "a"
dtype = "bfloat16"
shape = ["m", "k"]

[[input]]
name = "b"
dtype = "bfloat16"
shape = ["n", "k"]

[[output]]
name = "c"
dtype = "bfloat16"
shape = ["m", "n"]

[tunables]
GROUP_M = { values = [4, 8, 16], default = 8, methods = ["memory.block_swizzle"], help = "256-row tile pairs per group of the tile order" }
*/
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <stdint.h>

#ifndef GROUP_M
#define GROUP_M 8
#endif

namespace {

constexpr int BM = 128;
constexpr int BN = 256;
constexpr int BK = 64;
constexpr int STAGES = 4;
constexpr int A_BYTES = BM * BK * 2;         // 16384
constexpr int B_BYTES = BN * BK * 2;         // 32768
constexpr int STAGE_BYTES = A_BYTES + B_BYTES;
constexpr int B_HALF_BYTES = B_BYTES / 2;
constexpr int C_SLOT_BYTES = 64 * 64 * 2;    // 8192
constexpr int C_BYTES = 2 * 2 * C_SLOT_BYTES;
constexpr int OFF_B = STAGES * A_BYTES;
constexpr int OFF_C = STAGES * STAGE_BYTES;
constexpr int OFF_BAR = OFF_C + C_BYTES;
constexpr int SMEM_BYTES = 1024 + OFF_BAR + 2 * STAGES * 8;
constexpr int THREADS = 384;
// The last, partial wave is cut into narrower pieces of 256 x TAIL_N per cluster.
constexpr int TAIL_N = 136;
constexpr int TAIL_HALF = 72;                      // rows of B that each block loads
constexpr int TAIL_HALF_BYTES = TAIL_HALF * BK * 2;  // 9216, a multiple of 1024
constexpr int TAIL_STAGE_BYTES = A_BYTES + 2 * TAIL_HALF_BYTES;

__device__ __forceinline__ void mbar_init(uint32_t bar, uint32_t count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory");
}

__device__ __forceinline__ void mbar_wait(uint32_t bar, uint32_t parity)
{
    asm volatile(
        "{\n"
        ".reg .pred P1;\n"
        "LAB_WAIT:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n"
        "@P1 bra DONE;\n"
        "bra LAB_WAIT;\n"
        "DONE:\n"
        "}\n" ::"r"(bar),
        "r"(parity)
        : "memory");
}

__device__ __forceinline__ void mbar_expect_tx(uint32_t bar, uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes)
                 : "memory");
}

__device__ __forceinline__ void mbar_arrive_cluster(uint32_t bar, uint32_t cta)
{
    asm volatile(
        "{\n"
        ".reg .b32 remote;\n"
        "mapa.shared::cluster.u32 remote, %0, %1;\n"
        "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
        "}\n" ::"r"(bar),
        "r"(cta)
        : "memory");
}

__device__ __forceinline__ void tma_load(uint32_t dst, const CUtensorMap* map, uint32_t bar, int x,
                                         int y)
{
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3, %4}], [%2];" ::"r"(dst),
        "l"(reinterpret_cast<uint64_t>(map)), "r"(bar), "r"(x), "r"(y)
        : "memory");
}

__device__ __forceinline__ void tma_load_multicast(uint32_t dst, const CUtensorMap* map,
                                                   uint32_t bar, int x, int y, uint16_t mask)
{
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(dst),
        "l"(reinterpret_cast<uint64_t>(map)), "r"(bar), "r"(x), "r"(y), "h"(mask)
        : "memory");
}

__device__ __forceinline__ void tma_store(const CUtensorMap* map, uint32_t src, int x, int y)
{
    asm volatile(
        "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(
            reinterpret_cast<uint64_t>(map)),
        "r"(src), "r"(x), "r"(y)
        : "memory");
}

__device__ __forceinline__ void cluster_sync_all()
{
    asm volatile("barrier.cluster.arrive.release;\n"
                 "barrier.cluster.wait.acquire;\n" ::
                     : "memory");
}

__device__ __forceinline__ uint64_t make_desc(uint32_t addr)
{
    return (uint64_t)((addr & 0x3FFFF) >> 4) | ((uint64_t)1 << 16) | ((uint64_t)64 << 32) |
           ((uint64_t)1 << 62);
}

__device__ __forceinline__ uint32_t pack_bf16(float lo, float hi)
{
    uint32_t r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
    return r;
}

#define F4(i) "+f"(d[(i)]), "+f"(d[(i) + 1]), "+f"(d[(i) + 2]), "+f"(d[(i) + 3])
#define F16(i) F4(i), F4((i) + 4), F4((i) + 8), F4((i) + 12)
#define E4(i) "+f"(e[(i)]), "+f"(e[(i) + 1]), "+f"(e[(i) + 2]), "+f"(e[(i) + 3])
#define E16(i) E4(i), E4((i) + 4), E4((i) + 8), E4((i) + 12)

// d: columns 0 to 127, e: columns 128 to 255
__device__ __forceinline__ void wgmma_m64n256k16(float (&d)[64], float (&e)[64], uint64_t da,
                                                 uint64_t db)
{
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, %130, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, "
        "%8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, "
        "%24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, "
        "%40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, "
        "%56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67, %68, %69, %70, %71, "
        "%72, %73, %74, %75, %76, %77, %78, %79, "
        "%80, %81, %82, %83, %84, %85, %86, %87, "
        "%88, %89, %90, %91, %92, %93, %94, %95, "
        "%96, %97, %98, %99, %100, %101, %102, %103, "
        "%104, %105, %106, %107, %108, %109, %110, %111, "
        "%112, %113, %114, %115, %116, %117, %118, %119, "
        "%120, %121, %122, %123, %124, %125, %126, %127}, "
        "%128, %129, p, 1, 1, 0, 0;\n"
        "}\n"
        : F16(0), F16(16), F16(32), F16(48), E16(0), E16(16), E16(32), E16(48)
        : "l"(da), "l"(db), "r"(1));
}

template <int SCALE_D>
__device__ __forceinline__ void wgmma_m64n128k16(float (&d)[64], uint64_t da, uint64_t db)
{
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, "
        "%8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, "
        "%24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, "
        "%40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, "
        "%56, %57, %58, %59, %60, %61, %62, %63}, "
        "%64, %65, p, 1, 1, 0, 0;\n"
        "}\n"
        : F16(0), F16(16), F16(32), F16(48)
        : "l"(da), "l"(db), "r"(SCALE_D));
}

// One k-step of 64 for half of the columns, as a group of its own.
template <int SCALE_D>
__device__ __forceinline__ void half_step(float (&d)[64], uint64_t da, uint64_t db)
{
    wgmma_m64n128k16<SCALE_D>(d, da, db);
    wgmma_m64n128k16<1>(d, da + 2, db + 2);
    wgmma_m64n128k16<1>(d, da + 4, db + 4);
    wgmma_m64n128k16<1>(d, da + 6, db + 6);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Stores a warpgroup's 64 x 128 half through its two slots of shared memory.
__device__ __forceinline__ void store_half(const float (&d)[64], const CUtensorMap* map, bool store,
                                           int w, int tid, uint32_t st_base, int st_col, int st_xor,
                                           uint32_t c_base, int col, int row)
{
    if (tid == 0)
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    __syncwarp();
    asm volatile("bar.sync %0, 128;" ::"r"(w + 1) : "memory");
#pragma unroll
    for (int c = 0; c < 2; ++c) {
#pragma unroll
        for (int jj = 0; jj < 4; ++jj) {
            const int i = (c * 8 + jj * 2) * 4;
            const uint32_t r0 = pack_bf16(d[i + 0], d[i + 1]);
            const uint32_t r1 = pack_bf16(d[i + 2], d[i + 3]);
            const uint32_t r2 = pack_bf16(d[i + 4], d[i + 5]);
            const uint32_t r3 = pack_bf16(d[i + 6], d[i + 7]);
            const uint32_t addr = st_base + (uint32_t)(c * C_SLOT_BYTES) +
                                  (uint32_t)(((jj * 2 + st_col) ^ st_xor) << 4);
            asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                             addr),
                         "r"(r0), "r"(r1), "r"(r2), "r"(r3)
                         : "memory");
        }
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("bar.sync %0, 128;" ::"r"(w + 1) : "memory");
    if (tid == 0 && store) {
        tma_store(map, c_base, col, row);
        tma_store(map, c_base + C_SLOT_BYTES, col + 64, row);
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
    __syncwarp();
}

__device__ __forceinline__ void wgmma_m64n136k16(float (&d)[68], uint64_t da, uint64_t db)
{
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, %70, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n136k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, "
        "%8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, "
        "%24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, "
        "%40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, "
        "%56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67}, "
        "%68, %69, p, 1, 1, 0, 0;\n"
        "}\n"
        : F16(0), F16(16), F16(32), F16(48), F4(64)
        : "l"(da), "l"(db), "r"(1));
}

template <int COUNT>
__device__ __forceinline__ void fence_regs(float (&d)[COUNT])
{
#pragma unroll
    for (int i = 0; i < COUNT; ++i)
        asm volatile("" : "+f"(d[i])::"memory");
}

// Tiles of a cluster are 256 x 256: two blocks one above the other.
// The last `bands` rows of tiles from column `cut` on belong to the tail and are left out.
__device__ __forceinline__ void tile_of(int t, int tm, int tn, int bands, int cut, int& pm, int& pn)
{
    const int per_group = GROUP_M * tn;
    const int group = t / per_group;
    const int first = group * GROUP_M;
    const int rows = min(tm - first, GROUP_M);
    int r = t - group * per_group;
    if (first + rows == tm && r >= cut * rows) {
        r -= cut * rows;
        const int left = rows - bands;
        const int q = r / left;
        pn = cut + q;
        pm = first + (r - q * left);
        return;
    }
    pn = r / rows;
    pm = first + (r - pn * rows);
}

__global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(THREADS, 1)
    gemm_kernel(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                const __grid_constant__ CUtensorMap map_c,
                const __grid_constant__ CUtensorMap map_bt, __nv_bfloat16* out, int m, int n, int tm,
                int tn, int nk, int bands, int cut, int pieces)
{
    extern __shared__ __align__(1024) unsigned char smem_raw[];
    const uint32_t base = ((uint32_t)__cvta_generic_to_shared(smem_raw) + 1023u) & ~1023u;
    const uint32_t full0 = base + OFF_BAR;
    const uint32_t empty0 = full0 + STAGES * 8;

    uint32_t rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    const int cluster = blockIdx.x >> 1;
    const int clusters = gridDim.x >> 1;
    const int tiles = tm * tn - bands * (tn - cut);

    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) {
            mbar_init(full0 + s * 8, 1);
            mbar_init(empty0 + s * 8, 16);  // 8 consumer warps in each of 2 blocks
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    cluster_sync_all();

    const int wg = threadIdx.x >> 7;
    if (wg == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0) {
            int stage = 0;
            uint32_t phase = 0;
            for (int t = cluster; t < tiles; t += clusters) {
                int pm, pn;
                tile_of(t, tm, tn, bands, cut, pm, pn);
                const int row_a = (pm * 2 + (int)rank) * BM;
                const int row_b = pn * BN + (int)rank * (BN / 2);
                for (int kb = 0; kb < nk; ++kb) {
                    const uint32_t full = full0 + stage * 8;
                    mbar_wait(empty0 + stage * 8, phase ^ 1u);
                    mbar_expect_tx(full, STAGE_BYTES);
                    tma_load(base + stage * A_BYTES, &map_a, full, kb * BK, row_a);
                    tma_load_multicast(base + OFF_B + stage * B_BYTES + rank * B_HALF_BYTES, &map_b,
                                       full, kb * BK, row_b, (uint16_t)3);
                    if (++stage == STAGES) {
                        stage = 0;
                        phase ^= 1u;
                    }
                }
            }
            if (cluster < pieces) {
                const int q = cluster / bands;
                const int band = tm - bands + (cluster - q * bands);
                const int row_a = (band * 2 + (int)rank) * BM;
                const int row_b = cut * BN + q * TAIL_N + (int)rank * TAIL_HALF;
                for (int kb = 0; kb < nk; ++kb) {
                    const uint32_t full = full0 + stage * 8;
                    mbar_wait(empty0 + stage * 8, phase ^ 1u);
                    mbar_expect_tx(full, TAIL_STAGE_BYTES);
                    tma_load(base + stage * A_BYTES, &map_a, full, kb * BK, row_a);
                    tma_load_multicast(base + OFF_B + stage * B_BYTES + rank * TAIL_HALF_BYTES,
                                       &map_bt, full, kb * BK, row_b, (uint16_t)3);
                    if (++stage == STAGES) {
                        stage = 0;
                        phase ^= 1u;
                    }
                }
            }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        const int w = wg - 1;
        const int tid = threadIdx.x & 127;
        const int lane = tid & 31;
        const int warp = tid >> 5;
        const uint64_t desc_a0 = make_desc(base + w * (A_BYTES / 2));
        const uint64_t desc_b0 = make_desc(base + OFF_B);
        const uint32_t c_base = base + OFF_C + w * (2 * C_SLOT_BYTES);

        // stmatrix: lanes 0-7, 8-15, 16-23, 24-31 address the rows of matrices 0 to 3
        const int st_row = warp * 16 + ((lane >> 3) & 1) * 8 + (lane & 7);
        const int st_col = lane >> 4;  // which of the two column groups
        const uint32_t st_base = c_base + st_row * 128;
        const int st_xor = st_row & 7;

        int stage = 0;
        uint32_t phase = 0;
        float d0[64];  // columns 0 to 127 of the tile
        float d1[64];  // columns 128 to 255
#pragma unroll
        for (int i = 0; i < 64; ++i) {
            d0[i] = 0.0f;
            d1[i] = 0.0f;
        }
        fence_regs(d0);
        fence_regs(d1);
        constexpr uint64_t RIGHT = (uint64_t)(B_HALF_BYTES >> 4);
        int tile_row = 0;
        int tile_col = 0;

        // nk is at least 4 here. The first and the last two steps of a tile go by halves, and
        // each half is stored while the other is being multiplied.
        for (int t = cluster; t < tiles; t += clusters) {
            {
                const int s0 = stage;
                const uint32_t p0 = phase;
                if (++stage == STAGES) {
                    stage = 0;
                    phase ^= 1u;
                }
                const int s1 = stage;
                const uint32_t p1 = phase;
                if (++stage == STAGES) {
                    stage = 0;
                    phase ^= 1u;
                }
                const uint64_t da0 = desc_a0 + (uint64_t)(s0 * (A_BYTES >> 4));
                const uint64_t db0 = desc_b0 + (uint64_t)(s0 * (B_BYTES >> 4));
                const uint64_t da1 = desc_a0 + (uint64_t)(s1 * (A_BYTES >> 4));
                const uint64_t db1 = desc_b0 + (uint64_t)(s1 * (B_BYTES >> 4));
                mbar_wait(full0 + s0 * 8, p0);
                asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
                half_step<0>(d0, da0, db0);
                mbar_wait(full0 + s1 * 8, p1);
                asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
                half_step<1>(d0, da1, db1);
                // The right half of the tile before; in the first round nothing leaves.
                store_half(d1, &map_c, t != cluster, w, tid, st_base, st_col, st_xor, c_base,
                           tile_col + 128, tile_row);
                asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
                half_step<0>(d1, da0, db0 + RIGHT);
                half_step<1>(d1, da1, db1 + RIGHT);
                asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
                if (lane < 2)
                    mbar_arrive_cluster(empty0 + s0 * 8, (uint32_t)lane);
                __syncwarp();
                asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
                fence_regs(d0);
                fence_regs(d1);
                if (lane < 2)
                    mbar_arrive_cluster(empty0 + s1 * 8, (uint32_t)lane);
                __syncwarp();
            }

            int prev = 0;
#pragma unroll 1
            for (int kb = 2; kb < nk - 2; ++kb) {
                mbar_wait(full0 + stage * 8, phase);
                const uint64_t da = desc_a0 + (uint64_t)(stage * (A_BYTES >> 4));
                const uint64_t db = desc_b0 + (uint64_t)(stage * (B_BYTES >> 4));
                asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
                wgmma_m64n256k16(d0, d1, da, db);
                wgmma_m64n256k16(d0, d1, da + 2, db + 2);
                wgmma_m64n256k16(d0, d1, da + 4, db + 4);
                wgmma_m64n256k16(d0, d1, da + 6, db + 6);
                asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
                asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
                if (kb > 2 && lane < 2)
                    mbar_arrive_cluster(empty0 + prev * 8, (uint32_t)lane);
                prev = stage;
                if (++stage == STAGES) {
                    stage = 0;
                    phase ^= 1u;
                }
            }
            asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
            fence_regs(d0);
            fence_regs(d1);
            if (nk > 4 && lane < 2)
                mbar_arrive_cluster(empty0 + prev * 8, (uint32_t)lane);
            __syncwarp();

            int pm, pn;
            tile_of(t, tm, tn, bands, cut, pm, pn);
            tile_row = (pm * 2 + (int)rank) * BM + w * 64;
            tile_col = pn * BN;
            {
                const int s0 = stage;
                const uint32_t p0 = phase;
                if (++stage == STAGES) {
                    stage = 0;
                    phase ^= 1u;
                }
                const int s1 = stage;
                const uint32_t p1 = phase;
                if (++stage == STAGES) {
                    stage = 0;
                    phase ^= 1u;
                }
                const uint64_t da0 = desc_a0 + (uint64_t)(s0 * (A_BYTES >> 4));
                const uint64_t db0 = desc_b0 + (uint64_t)(s0 * (B_BYTES >> 4));
                const uint64_t da1 = desc_a0 + (uint64_t)(s1 * (A_BYTES >> 4));
                const uint64_t db1 = desc_b0 + (uint64_t)(s1 * (B_BYTES >> 4));
                mbar_wait(full0 + s0 * 8, p0);
                asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
                half_step<1>(d0, da0, db0);
                mbar_wait(full0 + s1 * 8, p1);
                asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
                half_step<1>(d0, da1, db1);
                half_step<1>(d1, da0, db0 + RIGHT);
                half_step<1>(d1, da1, db1 + RIGHT);
                asm volatile("wgmma.wait_group.sync.aligned 2;" ::: "memory");
                fence_regs(d0);
                store_half(d0, &map_c, true, w, tid, st_base, st_col, st_xor, c_base, tile_col,
                           tile_row);
                asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
                if (lane < 2)
                    mbar_arrive_cluster(empty0 + s0 * 8, (uint32_t)lane);
                __syncwarp();
                asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
                fence_regs(d1);
                if (lane < 2)
                    mbar_arrive_cluster(empty0 + s1 * 8, (uint32_t)lane);
                __syncwarp();
            }
        }
        if (cluster < tiles)
            store_half(d1, &map_c, true, w, tid, st_base, st_col, st_xor, c_base, tile_col + 128,
                       tile_row);
        // The tail: one piece of 256 x TAIL_N for most clusters.
        if (cluster < pieces) {
            const int q = cluster / bands;
            const int band = tm - bands + (cluster - q * bands);
            float e[68];
#pragma unroll
            for (int i = 0; i < 68; ++i)
                e[i] = 0.0f;
            fence_regs(e);

            int prev = 0;
#pragma unroll 1
            for (int kb = 0; kb < nk; ++kb) {
                mbar_wait(full0 + stage * 8, phase);
                const uint64_t da = desc_a0 + (uint64_t)(stage * (A_BYTES >> 4));
                const uint64_t db = desc_b0 + (uint64_t)(stage * (B_BYTES >> 4));
                asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
                wgmma_m64n136k16(e, da, db);
                wgmma_m64n136k16(e, da + 2, db + 2);
                wgmma_m64n136k16(e, da + 4, db + 4);
                wgmma_m64n136k16(e, da + 6, db + 6);
                asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
                asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
                if (kb > 0 && lane < 2)
                    mbar_arrive_cluster(empty0 + prev * 8, (uint32_t)lane);
                prev = stage;
                if (++stage == STAGES) {
                    stage = 0;
                    phase ^= 1u;
                }
            }
            asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
            fence_regs(e);
            if (lane < 2)
                mbar_arrive_cluster(empty0 + prev * 8, (uint32_t)lane);
            __syncwarp();

            // The last half tile's stores have read both slots.
            if (tid == 0)
                asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
            __syncwarp();
            const int row_c = (band * 2 + (int)rank) * BM + w * 64;
            const int col_c = cut * BN + q * TAIL_N;
#pragma unroll
            for (int ch = 0; ch < 2; ++ch) {
                const uint32_t slot = (uint32_t)ch * C_SLOT_BYTES;
                if (tid == 0)
                    asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
                asm volatile("bar.sync %0, 128;" ::"r"(w + 1) : "memory");
#pragma unroll
                for (int jj = 0; jj < 4; ++jj) {
                    const int i = (ch * 8 + jj * 2) * 4;
                    const uint32_t r0 = pack_bf16(e[i + 0], e[i + 1]);
                    const uint32_t r1 = pack_bf16(e[i + 2], e[i + 3]);
                    const uint32_t r2 = pack_bf16(e[i + 4], e[i + 5]);
                    const uint32_t r3 = pack_bf16(e[i + 6], e[i + 7]);
                    const uint32_t addr =
                        st_base + slot + (uint32_t)(((jj * 2 + st_col) ^ st_xor) << 4);
                    asm volatile(
                        "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                            addr),
                        "r"(r0), "r"(r1), "r"(r2), "r"(r3)
                        : "memory");
                }
                asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
                asm volatile("bar.sync %0, 128;" ::"r"(w + 1) : "memory");
                if (tid == 0) {
                    tma_store(&map_c, c_base + slot, col_c + ch * 64, row_c);
                    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
                }
            }
            __syncwarp();
            // The last 8 columns go straight from registers.
            const int col = col_c + 128 + (lane & 3) * 2;
            const int row = row_c + warp * 16 + (lane >> 2);
            if (col < n) {
                if (row < m)
                    *reinterpret_cast<uint32_t*>(out + (long long)row * n + col) =
                        pack_bf16(e[64], e[65]);
                if (row + 8 < m)
                    *reinterpret_cast<uint32_t*>(out + (long long)(row + 8) * n + col) =
                        pack_bf16(e[66], e[67]);
            }
            __syncwarp();
        }
        if (tid == 0)
            asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
        __syncwarp();
    }
    // No block leaves while the other may still signal its barriers.
    cluster_sync_all();
}

// Any shape; for rows that TMA cannot address.
__global__ void __launch_bounds__(256)
    plain_kernel(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m, int n,
                 int k, int tiles_n)
{
    __shared__ float sa[16][17];
    __shared__ float sb[16][17];
    const int tx = threadIdx.x & 15;
    const int ty = threadIdx.x >> 4;
    const int tile_m = blockIdx.x / tiles_n;
    const int tile_n = blockIdx.x - tile_m * tiles_n;
    const int row = tile_m * 16 + ty;
    const int col = tile_n * 16 + tx;
    const int row_b = tile_n * 16 + ty;
    float sum = 0.0f;
    for (int k0 = 0; k0 < k; k0 += 16) {
        const int kk = k0 + tx;
        sa[ty][tx] = (row < m && kk < k) ? __bfloat162float(a[(long long)row * k + kk]) : 0.0f;
        sb[ty][tx] = (row_b < n && kk < k) ? __bfloat162float(b[(long long)row_b * k + kk]) : 0.0f;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 16; ++i)
            sum = fmaf(sa[ty][i], sb[tx][i], sum);
        __syncthreads();
    }
    if (row < m && col < n)
        c[(long long)row * n + col] = __float2bfloat16(sum);
}

typedef CUresult (*EncodeFn)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                             const cuuint64_t*, const cuuint32_t*, const cuuint32_t*,
                             CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                             CUtensorMapFloatOOBfill);

const char* reason = "no error";

EncodeFn find_encode()
{
    void* fn = nullptr;
    cudaDriverEntryPointQueryResult found;
#if CUDART_VERSION >= 12050
    const cudaError_t e = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &fn, 12000,
                                                           cudaEnableDefault, &found);
#else
    const cudaError_t e =
        cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &fn, cudaEnableDefault, &found);
#endif
    if (e != cudaSuccess || found != cudaDriverEntryPointSuccess)
        return nullptr;
    return reinterpret_cast<EncodeFn>(fn);
}

bool encode(EncodeFn fn, CUtensorMap* map, const void* ptr, int rows, int cols, int box_rows)
{
    cuuint64_t dims[2] = {(cuuint64_t)cols, (cuuint64_t)rows};
    cuuint64_t strides[1] = {(cuuint64_t)cols * 2};
    cuuint32_t box[2] = {64, (cuuint32_t)box_rows};
    cuuint32_t steps[2] = {1, 1};
    return fn(map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<void*>(ptr), dims, strides, box,
              steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
              CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
              CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

struct Maps {
    const void* a = nullptr;
    const void* b = nullptr;
    const void* c = nullptr;
    int m = 0, n = 0, k = 0;
    bool valid = false;
    CUtensorMap ma, mb, mc, mt;
};

}  // namespace

extern "C" const char* why() { return reason; }

extern "C" int gemm_bf16(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                         int n, int k, cudaStream_t stream)
{
    if (m <= 0 || n <= 0)
        return 0;

    if (k <= 3 * BK || k % 8 != 0 || n % 8 != 0) {
        const int tiles_m = (m - 1) / 16 + 1;
        const int tiles_n = (n - 1) / 16 + 1;
        const long long blocks = (long long)tiles_m * tiles_n;
        if (blocks > 2147483647LL) {
            reason = "too many tiles";
            return 1;
        }
        plain_kernel<<<(unsigned)blocks, 256, 0, stream>>>(a, b, c, m, n, k, tiles_n);
        const cudaError_t e = cudaGetLastError();
        if (e != cudaSuccess) {
            reason = cudaGetErrorString(e);
            return 1;
        }
        return 0;
    }

    static EncodeFn fn = nullptr;
    static int sms = 0;
    static Maps maps;

    if (fn == nullptr) {
        EncodeFn f = find_encode();
        if (f == nullptr) {
            reason = "cuTensorMapEncodeTiled not found";
            return 1;
        }
        int dev = 0, count = 0;
        cudaError_t e = cudaGetDevice(&dev);
        if (e == cudaSuccess)
            e = cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, dev);
        if (e == cudaSuccess)
            e = cudaFuncSetAttribute(gemm_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     SMEM_BYTES);
        if (e != cudaSuccess) {
            reason = cudaGetErrorString(e);
            return 1;
        }
        sms = count;
        fn = f;
    }

    if (!maps.valid || maps.a != a || maps.b != b || maps.c != c || maps.m != m || maps.n != n ||
        maps.k != k) {
        maps.valid = false;
        if (!encode(fn, &maps.ma, a, m, k, BM) || !encode(fn, &maps.mb, b, n, k, BN / 2) ||
            !encode(fn, &maps.mc, c, m, n, 64) || !encode(fn, &maps.mt, b, n, k, TAIL_HALF)) {
            reason = "tensor map refused";
            return 1;
        }
        maps.a = a;
        maps.b = b;
        maps.c = c;
        maps.m = m;
        maps.n = n;
        maps.k = k;
        maps.valid = true;
    }

    const int tm = (m - 1) / (2 * BM) + 1;
    const int tn = (n - 1) / BN + 1;
    const int nk = (k - 1) / BK + 1;
    const long long tiles = (long long)tm * tn;
    if (tiles > 1000000000LL) {
        reason = "too many tiles";
        return 1;
    }
    long long clusters = sms / 2;
    if (clusters < 1)
        clusters = 1;
    if (clusters > tiles)
        clusters = tiles;

    // The tiles of the last, partial wave: `bands` rows of tiles from column `cut` on, cut into
    // at most one narrow piece per cluster. Where that does not go, there is no tail.
    int bands = 0, cut = tn, pieces = 0;
    const long long rest = tiles % clusters;
    if (rest > 0) {
        const int last_rows = tm - ((tm - 1) / GROUP_M) * GROUP_M;
        for (int h = 8; h >= 1; h /= 2) {
            if (rest % h != 0 || rest / h > tn || h > last_rows)
                continue;
            const int first_col = tn - (int)(rest / h);
            const long long cols = (long long)n - (long long)first_col * BN;
            const long long p = h * ((cols + TAIL_N - 1) / TAIL_N);
            if (p <= clusters) {
                bands = h;
                cut = first_col;
                pieces = (int)p;
                break;
            }
        }
    }

    gemm_kernel<<<(unsigned)(clusters * 2), THREADS, SMEM_BYTES, stream>>>(
        maps.ma, maps.mb, maps.mc, maps.mt, c, m, n, tm, tn, nk, bands, cut, pieces);
    const cudaError_t e = cudaGetLastError();
    if (e != cudaSuccess) {
        reason = cudaGetErrorString(e);
        return 1;
    }
    return 0;
}
