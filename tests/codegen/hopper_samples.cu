// One tiny kernel for each of the playbook's methods for Hopper, named after the method. They are
// compiled to see which instructions a method leaves in machine code; nobody runs them.

#include <cstdint>

__device__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ void barrier_init(uint32_t barrier, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

__device__ void barrier_expect(uint32_t barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

__device__ void barrier_wait(uint32_t barrier, int phase) {
  asm volatile(
      "{\n.reg .pred done;\nagain:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra again;\n}\n" ::"r"(barrier),
      "r"(phase)
      : "memory");
}

#define WGMMA_BEGIN asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define WGMMA_END \
  asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory")
#define ACCUMULATORS(d) "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])

__device__ void bf16_step(float (&d)[4], uint64_t a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0,%1,%2,%3}, %4, %5, 1, 1, 1, 0, 0;"
               : ACCUMULATORS(d)
               : "l"(a), "l"(b));
}

__device__ void fp8_step(float (&d)[4], uint64_t a, uint64_t b, int keep) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %6, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 {%0,%1,%2,%3}, %4, %5, p, 1, 1;\n}\n"
      : ACCUMULATORS(d)
      : "l"(a), "l"(b), "r"(keep));
}

extern "C" __global__ void compute_wgmma(float* out, uint64_t a, uint64_t b) {
  float d[4] = {};
  WGMMA_BEGIN;
  bf16_step(d, a, b);
  WGMMA_END;
  for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = d[i];
}

extern "C" __global__ void compute_fp8(float* out, uint64_t a, uint64_t b, int steps) {
  float d[4], sum[4] = {};
  for (int step = 0; step < steps; ++step) {
    WGMMA_BEGIN;
    for (int k = 0; k < 4; ++k) fp8_step(d, a + k, b + k, k);
    WGMMA_END;
    for (int i = 0; i < 4; ++i) sum[i] += d[i];
  }
  for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = sum[i];
}

// The same instruction for int8, and for single bits.
extern "C" __global__ void compute_wgmma_int8(int* out, uint64_t a, uint64_t b) {
  int d[4] = {};
  WGMMA_BEGIN;
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {%0,%1,%2,%3}, %4, %5, 1;"
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
               : "l"(a), "l"(b));
  WGMMA_END;
  for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = d[i];
}

extern "C" __global__ void compute_wgmma_bits(int* out, uint64_t a, uint64_t b) {
  int d[4] = {};
  WGMMA_BEGIN;
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc {%0,%1,%2,%3}, %4, %5, 1;"
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
               : "l"(a), "l"(b));
  WGMMA_END;
  for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = d[i];
}

struct alignas(64) TensorMap {
  char opaque[128];
};

extern "C" __global__ void memory_tma_loads(const __grid_constant__ TensorMap map, float* out) {
  __shared__ alignas(128) float tile[1024];
  __shared__ alignas(8) uint64_t barrier;
  if (threadIdx.x == 0) {
    barrier_init(shared_address(&barrier), 1);
    barrier_expect(shared_address(&barrier), sizeof tile);
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
        "[%1, {%2, %3}], [%4];" ::"r"(shared_address(tile)),
        "l"(&map), "r"(0), "r"(0), "r"(shared_address(&barrier))
        : "memory");
  }
  __syncthreads();
  barrier_wait(shared_address(&barrier), 0);
  out[threadIdx.x] = tile[threadIdx.x];
}

extern "C" __global__ void memory_tma_stores(const __grid_constant__ TensorMap map, float value) {
  __shared__ alignas(128) float tile[1024];
  tile[threadIdx.x] = value;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::
                     "l"(&map), "r"(0), "r"(0), "r"(shared_address(tile))
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
  }
}

extern "C" __global__ void memory_tma_stores_added(const __grid_constant__ TensorMap map, float v) {
  __shared__ alignas(128) float tile[1024];
  tile[threadIdx.x] = v;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile(
        "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], [%3];" ::
            "l"(&map),
        "r"(0), "r"(0), "r"(shared_address(tile))
        : "memory");
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
  }
}

extern "C" __global__ void memory_bulk_copy(const float* in, float* out) {
  __shared__ alignas(128) float tile[1024];
  __shared__ alignas(8) uint64_t barrier;
  if (threadIdx.x == 0) {
    barrier_init(shared_address(&barrier), 1);
    barrier_expect(shared_address(&barrier), sizeof tile);
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(shared_address(tile)),
        "l"(in), "r"(static_cast<uint32_t>(sizeof tile)), "r"(shared_address(&barrier))
        : "memory");
  }
  __syncthreads();
  barrier_wait(shared_address(&barrier), 0);
  out[threadIdx.x] = tile[threadIdx.x];
}

// A ring of two stages between one warp that loads and one that uses, without block-wide barriers.
extern "C" __global__ void latency_mbarrier_pipeline(const float* in, float* out, int steps) {
  __shared__ alignas(128) float tile[2][32];
  __shared__ alignas(8) uint64_t full[2], empty[2];
  if (threadIdx.x == 0)
    for (int stage = 0; stage < 2; ++stage) {
      barrier_init(shared_address(&full[stage]), 32);
      barrier_init(shared_address(&empty[stage]), 32);
    }
  __syncthreads();
  const int lane = threadIdx.x % 32;
  float sum = 0;
  for (int step = 0; step < steps; ++step) {
    const int stage = step & 1, phase = (step >> 1) & 1;
    if (threadIdx.x < 32) {
      barrier_wait(shared_address(&empty[stage]), phase ^ 1);
      tile[stage][lane] = in[step * 32 + lane];
      asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&full[stage])));
    } else {
      barrier_wait(shared_address(&full[stage]), phase);
      sum += tile[stage][lane];
      asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&empty[stage])));
    }
  }
  if (threadIdx.x >= 32) out[lane] = sum;
}

extern "C" __global__ void __launch_bounds__(384, 1)
    latency_warp_specialization(const float* in, float* out) {
  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    out[threadIdx.x] = in[threadIdx.x];
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    out[threadIdx.x] = in[threadIdx.x] * 2;
  }
}

extern "C" __global__ void __cluster_dims__(2, 1, 1)
    memory_cluster_multicast(const __grid_constant__ TensorMap map, float* out) {
  __shared__ alignas(128) float tile[1024];
  __shared__ alignas(8) uint64_t barrier;
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (threadIdx.x == 0) {
    barrier_init(shared_address(&barrier), 1);
    barrier_expect(shared_address(&barrier), sizeof tile);
  }
  asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
  if (threadIdx.x == 0 && rank == 0) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(tile)),
        "l"(&map), "r"(0), "r"(0), "r"(shared_address(&barrier)), "h"(static_cast<uint16_t>(3))
        : "memory");
  }
  barrier_wait(shared_address(&barrier), 0);
  out[threadIdx.x] = tile[threadIdx.x];
  asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
}

extern "C" __global__ void __cluster_dims__(2, 1, 1)
    memory_cluster_multicast_bulk(const float* in, float* out) {
  __shared__ alignas(128) float tile[1024];
  __shared__ alignas(8) uint64_t barrier;
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (threadIdx.x == 0) {
    barrier_init(shared_address(&barrier), 1);
    barrier_expect(shared_address(&barrier), sizeof tile);
  }
  asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
  if (threadIdx.x == 0 && rank == 0) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
        "[%1], %2, [%3], %4;" ::"r"(shared_address(tile)),
        "l"(in), "r"(static_cast<uint32_t>(sizeof tile)), "r"(shared_address(&barrier)),
        "h"(static_cast<uint16_t>(3))
        : "memory");
  }
  barrier_wait(shared_address(&barrier), 0);
  out[threadIdx.x] = tile[threadIdx.x];
  asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
}

// None of the methods: what a signature must not be seen in.
extern "C" __global__ void plain(const float* in, float* out) {
  __shared__ float tile[256];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[255 - threadIdx.x] * 2;
}
