/* rooftree
where = [
    "ITEMS > 1 or LAYOUT == 0 and VEC == 1",
    "FUSE >= 2 or LOOK == 1",
    "FUSE == 3 or ITEMS <= 16 and LOOK <= 32 and STAGES == 1 and SUMMERS == 1 and BLOCKS == 0",
    "FUSE < 3 or VEC == 4 and LAYOUT == 0 and SHUFFLE == 1 and ITEMS >= 8 and LOOK >= 32",
    "FUSE < 3 or STAGES >= 2 and SUMMERS >= 2 and BLOCKS > 0",
    "STAGES * BLOCK * ITEMS * BLOCKS <= 132 * 57500",
]

[tunables]
FUSE    = { values = [0, 1, 2, 3], default = 0, methods = ["memory.fused_passes", "latency.fewer_launches", "latency.warp_specialization"], help = "0: scan tiles, scan their sums, add those to all; 1: sum tiles, scan the sums, scan tiles from there; 2: one pass, in which a tile looks back at the tiles before it; 3: the same, by warps that copy, sum, look back or scan, each some tiles ahead of the next" }
LOOK    = { values = [1, 32, 128], default = 1, methods = ["compute.warp_primitives"], help = "tiles that are looked back at together" }
BLOCK   = { values = [128, 256, 512], default = 256, methods = ["latency.block_size"], help = "threads per block, with FUSE 3 those that scan" }
ITEMS   = { values = [1, 4, 8, 16, 32, 48], default = 1, methods = ["latency.work_per_thread"], help = "values per thread; a tile has BLOCK * ITEMS" }
VEC     = { values = [1, 4], default = 1, methods = ["memory.vectorized_loads"], help = "values per access to device memory" }
LAYOUT  = { values = [0, 1, 2], default = 0, methods = ["memory.coalesced_access", "memory.shared_padding"], help = "0: a thread reads and writes its own values; 1: the block exchanges them in shared memory, so that lanes access neighbours; 2: the same, with a word of padding in 33" }
SHUFFLE = { values = [0, 1], default = 0, methods = ["compute.warp_primitives"], help = "how the threads' sums are scanned; 0: in shared memory, 1: by warp shuffles" }
STAGES  = { values = [1, 2, 3, 4, 7], default = 1, methods = ["latency.mbarrier_pipeline", "memory.async_copy"], help = "with FUSE 3: tiles in shared memory at a time, each brought by one bulk copy" }
SUMMERS = { values = [1, 2, 4], default = 1, methods = ["latency.warp_specialization"], help = "with FUSE 3: warps that sum tiles" }
BLOCKS  = { values = [0, 132, 264], default = 0, methods = ["latency.persistent_grid"], help = "with FUSE 3: blocks that go through all tiles, one or two for each multiprocessor of an H200" }

[[workspace]]
name = "sums"
dtype = "int32"
size = "ceil_div(n, BLOCK * ITEMS)"

[[workspace]]
name = "states"
dtype = "int64"
size = "ceil_div(n, BLOCK * ITEMS) + 1 if FUSE >= 2 else 1"

[[launch]]
memset = "states"
when   = "FUSE >= 2"

[[launch]]
kernel = "sum_tiles"
grid   = ["ceil_div(n, BLOCK * ITEMS)"]
block  = ["BLOCK"]
args   = ["x", "sums", "n"]
when   = "FUSE == 1"

[[launch]]
kernel = "scan_sums"
grid   = [1]
block  = [1024]
args   = ["sums", "ceil_div(n, BLOCK * ITEMS)"]
when   = "FUSE == 1"

[[launch]]
kernel = "scan_tiles"
grid   = ["ceil_div(n, BLOCK * ITEMS)"]
block  = ["BLOCK"]
args   = ["x", "y", "sums", "states", "n"]
when   = "FUSE < 3"

[[launch]]
kernel = "scan_by_roles"
grid   = ["min(BLOCKS, ceil_div(n, BLOCK * ITEMS))"]
block  = ["BLOCK + 32 * (SUMMERS + 2)"]
shared = "4 * STAGES * BLOCK * ITEMS"
args   = ["x", "y", "states", "n"]
when   = "FUSE == 3"

[[launch]]
kernel = "scan_sums"
grid   = [1]
block  = [1024]
args   = ["sums", "ceil_div(n, BLOCK * ITEMS)"]
when   = "FUSE == 0"

[[launch]]
kernel = "add_sums"
grid   = ["ceil_div(n, BLOCK * ITEMS)"]
block  = ["BLOCK"]
args   = ["y", "sums", "n"]
when   = "FUSE == 0"
*/

#define TILE (BLOCK * ITEMS)

struct alignas(4 * VEC) Pack {
    int v[VEC];
};

__device__ __forceinline__ Pack load(const int* p, int i, int n)
{
    Pack r;
    if (i + VEC <= n) {
        r = *reinterpret_cast<const Pack*>(p + i);
    } else {
#pragma unroll
        for (int j = 0; j < VEC; ++j)
            r.v[j] = i + j < n ? p[i + j] : 0;
    }
    return r;
}

__device__ __forceinline__ void store(int* p, const Pack& r, int i, int n)
{
    if (i + VEC <= n) {
        *reinterpret_cast<Pack*>(p + i) = r;
    } else {
#pragma unroll
        for (int j = 0; j < VEC; ++j)
            if (i + j < n)
                p[i + j] = r.v[j];
    }
}

// Where the exchange keeps value i of the tile.
__device__ __forceinline__ int slot(int i)
{
    return LAYOUT == 2 ? i + i / 32 : i;
}

// The thread's values threadIdx.x * ITEMS, ... of the tile at `base`; `exchange` has slot(TILE) words.
__device__ __forceinline__ void read_tile(int (&v)[ITEMS], const int* x, int base, int n, int* exchange)
{
#pragma unroll
    for (int k = 0; k < ITEMS; k += VEC) {
        const int i = LAYOUT == 0 ? threadIdx.x * ITEMS + k : k * BLOCK + threadIdx.x * VEC;
        const Pack p = load(x, base + i, n);
#pragma unroll
        for (int j = 0; j < VEC; ++j) {
            if (LAYOUT == 0)
                v[k + j] = p.v[j];
            else
                exchange[slot(i + j)] = p.v[j];
        }
    }
    if (LAYOUT == 0)
        return;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < ITEMS; ++k)
        v[k] = exchange[slot(threadIdx.x * ITEMS + k)];
}

__device__ __forceinline__ void write_tile(const int (&v)[ITEMS], int* y, int base, int n, int* exchange)
{
    if (LAYOUT > 0) {
        // Every thread overwrites only what it alone has read.
#pragma unroll
        for (int k = 0; k < ITEMS; ++k)
            exchange[slot(threadIdx.x * ITEMS + k)] = v[k];
        __syncthreads();
    }
#pragma unroll
    for (int k = 0; k < ITEMS; k += VEC) {
        const int i = LAYOUT == 0 ? threadIdx.x * ITEMS + k : k * BLOCK + threadIdx.x * VEC;
        Pack p;
#pragma unroll
        for (int j = 0; j < VEC; ++j)
            p.v[j] = LAYOUT == 0 ? v[k + j] : exchange[slot(i + j)];
        store(y, p, base + i, n);
    }
}

__device__ __forceinline__ int scan_warp(int v)
{
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        const int before = __shfl_up_sync(0xffffffffu, v, d);
        if (threadIdx.x % 32 >= d)
            v += before;
    }
    return v;
}

// The sum over the threads up to this one; `total` is that of the block. `scratch` has a word a thread.
template <int THREADS, bool BY_WARPS>
__device__ __forceinline__ int scan_block(int v, int& total, int* scratch)
{
    if (BY_WARPS) {
        v = scan_warp(v);
        if (threadIdx.x % 32 == 31)
            scratch[threadIdx.x / 32] = v;
        __syncthreads();
        if (threadIdx.x < 32) {
            const int warps = scan_warp(threadIdx.x < THREADS / 32 ? scratch[threadIdx.x] : 0);
            if (threadIdx.x < THREADS / 32)
                scratch[threadIdx.x] = warps;
        }
        __syncthreads();
        if (threadIdx.x >= 32)
            v += scratch[threadIdx.x / 32 - 1];
        total = scratch[THREADS / 32 - 1];
    } else {
        scratch[threadIdx.x] = v;
        for (int d = 1; d < THREADS; d *= 2) {
            __syncthreads();
            const int before = threadIdx.x >= d ? scratch[threadIdx.x - d] : 0;
            __syncthreads();
            v += before;
            scratch[threadIdx.x] = v;
        }
        __syncthreads();
        total = scratch[THREADS - 1];
    }
    return v;
}

#if FUSE >= 2
// A tile's state is one word, so that nobody sees its kind without its value: what the tile alone
// sums to, or all tiles up to it. Merrill and Garland, Single-pass Parallel Prefix Scan, 2016.
typedef unsigned long long State;
#define ALONE (1ull << 32)
#define UP_TO (2ull << 32)

__device__ __forceinline__ void tell(State* states, int tile, State kind, int value)
{
    *const_cast<volatile State*>(states + tile) = kind | (unsigned)value;
}

__device__ __forceinline__ State ask(const State* states, int tile)
{
    return tile < 0 ? UP_TO : *const_cast<const volatile State*>(states + tile);
}
#endif

#if FUSE == 2

// The sum of all tiles before `tile`, valid in thread 0. The first warp calls it.
__device__ __forceinline__ int look_back(const State* states, int tile)
{
    int sum = 0;
#if LOOK == 1
    if (threadIdx.x > 0)
        return 0;
    for (int before = tile - 1;; --before) {
        State s;
        do
            s = ask(states, before);
        while (s < ALONE);
        sum += (int)s;
        if (s >= UP_TO)
            return sum;
    }
#else
    for (int before = tile - 1 - threadIdx.x;; before -= 32) {
        State s;
        do
            s = ask(states, before);
        while (__any_sync(0xffffffffu, s < ALONE));
        const unsigned known = __ballot_sync(0xffffffffu, s >= UP_TO);
        const int nearest = known ? __ffs((int)known) - 1 : 31;
        int part = threadIdx.x <= nearest ? (int)s : 0;
#pragma unroll
        for (int d = 16; d > 0; d /= 2)
            part += __shfl_xor_sync(0xffffffffu, part, d);
        sum += part;
        if (known)
            return sum;
    }
#endif
}
#endif

#if FUSE < 3
// FUSE 0: scans every tile on its own and notes its sum. FUSE 1: starts from the scanned sums.
extern "C" __global__ void __launch_bounds__(BLOCK)
scan_tiles(const int* __restrict__ x, int* __restrict__ y, int* sums, unsigned long long* states, int n)
{
    __shared__ int exchange[LAYOUT ? TILE + TILE / 32 : 1];
    __shared__ int scratch[BLOCK];
#if FUSE == 2
    __shared__ int shared_tile, shared_before;
    // Tiles are numbered as they start, so that those before this one are done or running.
    if (threadIdx.x == 0)
        shared_tile = atomicAdd(reinterpret_cast<int*>(states), 1);
    ++states;
    __syncthreads();
    const int tile = shared_tile;
#else
    const int tile = blockIdx.x;
#endif
    int v[ITEMS];
    read_tile(v, x, tile * TILE, n, exchange);
#pragma unroll
    for (int k = 1; k < ITEMS; ++k)
        v[k] += v[k - 1];
    int total;
    int before = scan_block<BLOCK, SHUFFLE == 1>(v[ITEMS - 1], total, scratch) - v[ITEMS - 1];
#if FUSE == 0
    if (threadIdx.x == 0)
        sums[tile] = total;
#elif FUSE == 1
    before += sums[tile];
#else
    if (threadIdx.x < 32) {
        if (threadIdx.x == 0 && tile > 0)
            tell(states, tile, ALONE, total);
        const int found = look_back(states, tile);
        if (threadIdx.x == 0) {
            tell(states, tile, UP_TO, found + total);
            shared_before = found;
        }
    }
    __syncthreads();
    before += shared_before;
#endif
#pragma unroll
    for (int k = 0; k < ITEMS; ++k)
        v[k] += before;
    write_tile(v, y, tile * TILE, n, exchange);
}
#endif

#if FUSE < 2
// In place, from the sums of tiles to those of all tiles before.
extern "C" __global__ void __launch_bounds__(1024) scan_sums(int* sums, int count)
{
    __shared__ int scratch[1024];
    int before = 0;
    for (int first = 0; first < count; first += 1024) {
        const int i = first + threadIdx.x;
        const int v = i < count ? sums[i] : 0;
        int total;
        const int up_to = scan_block<1024, true>(v, total, scratch);
        if (i < count)
            sums[i] = before + up_to - v;
        before += total;
        __syncthreads();
    }
}
#endif

#if FUSE == 1
extern "C" __global__ void __launch_bounds__(BLOCK) sum_tiles(const int* __restrict__ x, int* sums, int n)
{
    __shared__ int scratch[BLOCK];
    int sum = 0;
#pragma unroll
    for (int k = 0; k < ITEMS; k += VEC) {
        const int i = LAYOUT == 0 ? threadIdx.x * ITEMS + k : k * BLOCK + threadIdx.x * VEC;
        const Pack p = load(x, blockIdx.x * TILE + i, n);
#pragma unroll
        for (int j = 0; j < VEC; ++j)
            sum += p.v[j];
    }
    int total;
    scan_block<BLOCK, SHUFFLE == 1>(sum, total, scratch);
    if (threadIdx.x == 0)
        sums[blockIdx.x] = total;
}
#endif

#if FUSE == 0
extern "C" __global__ void __launch_bounds__(BLOCK) add_sums(int* y, const int* __restrict__ sums, int n)
{
    const int before = sums[blockIdx.x];
#pragma unroll
    for (int k = 0; k < ITEMS; k += VEC) {
        const int i = blockIdx.x * TILE + (LAYOUT == 0 ? threadIdx.x * ITEMS + k : k * BLOCK + threadIdx.x * VEC);
        Pack p = load(y, i, n);
#pragma unroll
        for (int j = 0; j < VEC; ++j)
            p.v[j] += before;
        store(y, p, i, n);
    }
}
#endif

#if FUSE == 3
// A block takes tile after tile. One thread copies a tile to shared memory as soon as a stage is free;
// SUMMERS warps sum it and tell all blocks; one warp adds up what all tiles before it came to; the
// others scan and store it. No tile waits for another to be scanned, only for sums.
#define WARPS (BLOCK / 32)
#define PART (32 * ITEMS)  // of a tile, scanned by one warp
#define ROUNDS (ITEMS / 4)

__device__ __forceinline__ unsigned shared_address(const void* p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

__device__ __forceinline__ void init_barrier(unsigned barrier, int count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

__device__ __forceinline__ void arrive(unsigned barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

__device__ __forceinline__ void wait_barrier(unsigned barrier, int parity)
{
    asm volatile("{\n.reg .pred done;\nagain:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n}" ::"r"(barrier), "r"(parity) : "memory");
}

struct Pipeline {
    alignas(8) unsigned long long full[STAGES], summed[STAGES], known[STAGES], empty[STAGES];
    int tile[STAGES], sums[STAGES][WARPS], before[STAGES];
};

// Copies `tile`, in whole groups of 16 bytes, as far as it exists.
__device__ __forceinline__ void copy_tile(int* to, const int* x, long long first, int n, unsigned barrier)
{
    const long long left = n - first;
    const int bytes = left <= 0 ? 0 : (int)(left < TILE ? left : TILE) / 4 * 16;
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
    if (bytes > 0)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                     ::"r"(shared_address(to)), "l"(x + first), "r"(bytes), "r"(barrier) : "memory");
}

// Four values of a tile from i on; what was not copied comes from device memory.
__device__ __forceinline__ int4 four(const int* tile, const int* x, long long first, int i, int n)
{
    if (first + i + 4 <= n)
        return *reinterpret_cast<const int4*>(tile + i);
    const Pack p = first + i < n ? load(x, (int)first + i, n) : Pack{};
    return make_int4(p.v[0], p.v[1], p.v[2], p.v[3]);
}

// The sum of tiles from `from` to `to`, in all lanes.
__device__ __forceinline__ int sum_of_tiles(const State* states, int from, int to)
{
    const int lane = threadIdx.x % 32;
    int sum = 0;
    for (int first = from; first < to; first += LOOK) {
        State s[LOOK / 32];
#pragma unroll
        for (int i = 0; i < LOOK / 32; ++i) {
            const int tile = first + 32 * i + lane;
            s[i] = tile < to ? ask(states, tile) : ALONE;
        }
#pragma unroll
        for (int i = 0; i < LOOK / 32; ++i) {
            while (s[i] < ALONE)
                s[i] = ask(states, first + 32 * i + lane);
            sum += (int)s[i];
        }
    }
    return __reduce_add_sync(0xffffffffu, sum);
}

extern "C" __global__ void __launch_bounds__(BLOCK + 32 * (SUMMERS + 2), BLOCKS / 132)
scan_by_roles(const int* __restrict__ x, int* __restrict__ y, unsigned long long* states, int n)
{
    extern __shared__ uint4 raw[];
    __shared__ Pipeline pipeline;
    int* const stages = reinterpret_cast<int*>(raw);
    const unsigned full = shared_address(pipeline.full), summed = shared_address(pipeline.summed);
    const unsigned known = shared_address(pipeline.known), empty = shared_address(pipeline.empty);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int tiles = (int)((n + (long long)TILE - 1) / TILE);
    int* const next_tile = reinterpret_cast<int*>(states++);
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) {
            init_barrier(full + 8 * s, 1);
            init_barrier(summed + 8 * s, 1);
            init_barrier(known + 8 * s, 1);
            init_barrier(empty + 8 * s, WARPS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    // A number from `tiles` on ends each role in turn.
    if (warp == WARPS + SUMMERS + 1) {
        if (lane > 0)
            return;
        int next = atomicAdd(next_tile, 1);
        for (int t = 0, tile = 0; tile < tiles; ++t) {
            const int s = t % STAGES;
            tile = next;
            if (tile < tiles)
                next = atomicAdd(next_tile, 1);
            if (t >= STAGES)
                wait_barrier(empty + 8 * s, (t / STAGES - 1) % 2);
            pipeline.tile[s] = tile;
            copy_tile(stages + s * TILE, x, (long long)tile * TILE, n, full + 8 * s);
        }
    } else if (warp == WARPS + SUMMERS) {
        int before = 0, counted = 0;
        for (int t = 0;; ++t) {
            const int s = t % STAGES;
            wait_barrier(summed + 8 * s, t / STAGES % 2);
            const int tile = pipeline.tile[s];
            if (tile >= tiles)
                return;
            before += sum_of_tiles(states, counted, tile);
            counted = tile;
            if (lane == 0) {
                pipeline.before[s] = before;
                arrive(known + 8 * s);
            }
        }
    } else if (warp >= WARPS) {
        const int own = warp - WARPS;
        for (int t = 0;; ++t) {
            const int s = t % STAGES;
            wait_barrier(full + 8 * s, t / STAGES % 2);
            const int tile = pipeline.tile[s];
            if (tile >= tiles) {
                if (own == 0 && lane == 0)
                    arrive(summed + 8 * s);
                return;
            }
#pragma unroll 1
            for (int part = own; part < WARPS; part += SUMMERS) {
                int sum = 0;
#pragma unroll
                for (int r = 0; r < ROUNDS; ++r) {
                    const int4 v = four(stages + s * TILE, x, (long long)tile * TILE, part * PART + 128 * r + 4 * lane, n);
                    sum += v.x + v.y + v.z + v.w;
                }
                sum = __reduce_add_sync(0xffffffffu, sum);
                if (lane == 0)
                    pipeline.sums[s][part] = sum;
            }
            asm volatile("bar.sync 1, %0;" ::"n"(32 * SUMMERS) : "memory");
            if (own == 0) {
                const int total = __reduce_add_sync(0xffffffffu, lane < WARPS ? pipeline.sums[s][lane] : 0);
                if (lane == 0) {
                    tell(states, tile, ALONE, total);
                    arrive(summed + 8 * s);
                }
            }
        }
    } else {
        for (int t = 0;; ++t) {
            const int s = t % STAGES;
            wait_barrier(full + 8 * s, t / STAGES % 2);
            const int tile = pipeline.tile[s];
            if (tile >= tiles)
                return;
            const long long first = (long long)tile * TILE;
            int4 v[ROUNDS];
            int up_to[ROUNDS];
#pragma unroll
            for (int r = 0; r < ROUNDS; ++r)
                v[r] = four(stages + s * TILE, x, first, warp * PART + 128 * r + 4 * lane, n);
#pragma unroll
            for (int r = 0; r < ROUNDS; ++r) {
                v[r].y += v[r].x;
                v[r].z += v[r].y;
                v[r].w += v[r].z;
                up_to[r] = scan_warp(v[r].w);
            }
            wait_barrier(known + 8 * s, t / STAGES % 2);
            int before = pipeline.before[s];
#pragma unroll
            for (int w = 0; w < WARPS; ++w)
                before += w < warp ? pipeline.sums[s][w] : 0;
            __syncwarp();
            if (lane == 0)
                arrive(empty + 8 * s);
#pragma unroll
            for (int r = 0; r < ROUNDS; ++r) {
                const int add = before + up_to[r] - v[r].w;
                before += __shfl_sync(0xffffffffu, up_to[r], 31);
                const int4 o = make_int4(v[r].x + add, v[r].y + add, v[r].z + add, v[r].w + add);
                const long long i = first + warp * PART + 128 * r + 4 * lane;
                if (i + 4 <= n) {
                    __stcs(reinterpret_cast<int4*>(y + i), o);
                } else if (i < n) {
                    const Pack p = {o.x, o.y, o.z, o.w};
                    store(y, p, (int)i, n);
                }
            }
        }
    }
}
#endif
