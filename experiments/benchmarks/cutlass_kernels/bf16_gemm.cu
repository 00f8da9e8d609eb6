// C = A B for bf16 matrices on Hopper: TMA fills a ring of swizzled tiles, WGMMA sums them in fp32.
//
// A is M x K with rows of K; C is M x N with rows of N. B_LAYOUT says how B lies in memory:
//   0: N x K, rows of K (a linear layer's weight, C = A B^T);
//   1: K x N, rows of N (a plain product, C = A B).
// Pointers and rows must be aligned to 16 bytes, which is what TMA reads: K and N divisible by 8.
//
// Build: nvcc -std=c++17 -O3 -gencode arch=compute_90a,code=sm_90a --expt-relaxed-constexpr
//        -I CUTLASS/include -shared -Xcompiler -fPIC

/* rooftree
launcher = "bf16_gemm"
failure = "bf16_gemm_failure"
args = ["a", "b", "c", "M", "N", "K", "scratch", "scratch_bytes", "stream"]
where = [
    "PINGPONG == 1 or TILE_M >= 128",
    "TILE_M * TILE_N <= (24576 if PINGPONG == 1 else 49152)",
    "(TILE_M + TILE_N) * TILE_K <= 40960",
    "CLUSTER_M * CLUSTER_N <= 4",
    "PINGPONG == 0 or STREAM_K == 0",
]

[[input]]
name = "a"
dtype = "bfloat16"
shape = ["M", "K"]

[[input]]
name = "b"
dtype = "bfloat16"
shape = ["N", "K"]

[[output]]
name = "c"
dtype = "bfloat16"
shape = ["M", "N"]

[[workspace]]
name = "scratch"
bytes_from = "bf16_gemm_workspace"
args = ["M", "N", "K"]

[tunables]
TILE_M = { values = [64, 128, 256], default = 128, methods = ["compute.wgmma", "memory.shared_tiling"], help = "rows of the tile of C that a block holds" }
TILE_N = { values = [64, 128, 192, 256], default = 256, methods = ["compute.wgmma", "memory.shared_tiling"], help = "columns of it" }
TILE_K = { values = [64, 128], default = 64, methods = ["latency.mbarrier_pipeline"], help = "depth of a pipeline stage; the deeper, the fewer of them fit" }
CLUSTER_M = { values = [1, 2, 4], default = 2, methods = ["memory.cluster_multicast"], help = "blocks that read the same tile of B" }
CLUSTER_N = { values = [1, 2], default = 1, methods = ["memory.cluster_multicast"], help = "blocks that read the same tile of A" }
PINGPONG = { values = [0, 1], default = 0, methods = ["latency.warp_specialization"], help = "0: two warpgroups share a tile; 1: each has its own" }
STREAM_K = { values = [0, 1], default = 0, methods = ["latency.stream_k"], help = "1: the last, partial wave is divided along K among all blocks" }
RASTER = { values = [0, 1, 2], default = 0, methods = ["memory.block_swizzle"], help = "order of tiles; 0: the library's rule, 1: along M, 2: along N" }
SWIZZLE = { values = [1, 2, 4, 8], default = 1, methods = ["memory.block_swizzle"], help = "width in tiles of the bands that keep their inputs in L2" }
*/

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <mutex>

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include "cute/tensor.hpp"
#include "cutlass/cutlass.h"
#include "cutlass/epilogue/collective/collective_builder.hpp"
#include "cutlass/epilogue/dispatch_policy.hpp"
#include "cutlass/gemm/collective/collective_builder.hpp"
#include "cutlass/gemm/device/gemm_universal_adapter.h"
#include "cutlass/gemm/kernel/gemm_universal.hpp"
#include "cutlass/gemm/kernel/tile_scheduler.hpp"
#include "cutlass/kernel_hardware_info.h"

// Tile of C that a block holds, and the depth of one pipeline stage.
#ifndef TILE_M
#define TILE_M 128
#endif
#ifndef TILE_N
#define TILE_N 256
#endif
#ifndef TILE_K
#define TILE_K 64
#endif
// Blocks that share tiles by multicast: CLUSTER_M of them read one tile of B, CLUSTER_N one of A.
#ifndef CLUSTER_M
#define CLUSTER_M 2
#endif
#ifndef CLUSTER_N
#define CLUSTER_N 1
#endif
// 0: as many stages as shared memory holds beside the epilogue.
#ifndef STAGES
#define STAGES 0
#endif
// 0: cooperative, two warpgroups share a tile. 1: pingpong, each has a tile of its own and one's
// epilogue hides behind the other's products.
#ifndef PINGPONG
#define PINGPONG 0
#endif
// 1: the sums of the last, partial wave are divided among all blocks (cooperative only).
#ifndef STREAM_K
#define STREAM_K 0
#endif
// Order of tiles: 0 by the library's rule, 1 along M, 2 along N; and the width, in tiles, of the
// bands that keep their inputs in L2 (1, 2, 4 or 8).
#ifndef RASTER
#define RASTER 0
#endif
#ifndef SWIZZLE
#define SWIZZLE 1
#endif
#ifndef B_LAYOUT
#define B_LAYOUT 0
#endif

static_assert(!(PINGPONG && STREAM_K), "stream-K needs the cooperative schedule: set PINGPONG to 0");
static_assert(PINGPONG || TILE_M % 128 == 0,
              "the cooperative schedule gives 64 rows to each of two warpgroups: TILE_M % 128 == 0");

namespace bf16_product {

using Element = cutlass::bfloat16_t;
using RowMajor = cutlass::layout::RowMajor;
using LayoutB = std::conditional_t<B_LAYOUT == 0, cutlass::layout::ColumnMajor, RowMajor>;
using Tile = cute::Shape<cute::Int<TILE_M>, cute::Int<TILE_N>, cute::Int<TILE_K>>;
using Cluster = cute::Shape<cute::Int<CLUSTER_M>, cute::Int<CLUSTER_N>, cute::_1>;
inline constexpr int kAligned = 16 / sizeof(Element);

using MainSchedule = std::conditional_t<PINGPONG, cutlass::gemm::KernelTmaWarpSpecializedPingpong,
                                        cutlass::gemm::KernelTmaWarpSpecializedCooperative>;
using EpilogueSchedule = std::conditional_t<PINGPONG, cutlass::epilogue::TmaWarpSpecialized,
                                            cutlass::epilogue::TmaWarpSpecializedCooperative>;

// No C is read: with `void` there is neither a load nor shared memory for it.
using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster,
    cutlass::epilogue::collective::EpilogueTileAuto, float, float, void, RowMajor, kAligned, Element,
    RowMajor, kAligned, EpilogueSchedule>::CollectiveOp;

using Carveout = cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(
    sizeof(typename Epilogue::SharedStorage))>;
using Stages = std::conditional_t<STAGES == 0, Carveout, cutlass::gemm::collective::StageCount<STAGES>>;

using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Element, RowMajor, kAligned, Element,
    LayoutB, kAligned, float, Tile, Cluster, Stages, MainSchedule>::CollectiveOp;

using Scheduler = std::conditional_t<STREAM_K, cutlass::gemm::StreamKScheduler,
                                     cutlass::gemm::PersistentScheduler>;
using Kernel = cutlass::gemm::kernel::GemmUniversal<cute::Shape<int, int, int, int>, Mainloop,
                                                    Epilogue, Scheduler>;
using Gemm = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;

static_assert(Kernel::SharedStorageSize <= 232448,
              "needs more shared memory than a block of sm_90 has (227 KB): smaller tile or STAGES");

inline thread_local char failure[256] = "";

template <class... Args>
int refuse(int code, const char* format, Args... args) {
  std::snprintf(failure, sizeof failure, format, args...);
  return code;
}

// What the persistent grid is cut by; asked once per device.
cutlass::KernelHardwareInfo hardware(int device) {
  static std::mutex guard;
  static cutlass::KernelHardwareInfo known[64];
  std::lock_guard<std::mutex> hold(guard);
  auto& info = known[device & 63];
  if (info.sm_count == 0) {
    info = cutlass::KernelHardwareInfo::make_kernel_hardware_info<Kernel>(device);
  }
  return info;
}

// Strides of a whole matrix: (rows, depth, batch), the dimension that is contiguous known to the type.
template <class Strides>
Strides packed(int rows, int depth) {
  Strides strides{};
  if constexpr (cute::is_static<cute::tuple_element_t<0, Strides>>::value) {
    cute::get<1>(strides) = rows;
  } else {
    cute::get<0>(strides) = depth;
  }
  return strides;
}

typename Gemm::Arguments arguments(const void* a, const void* b, void* c, int m, int n, int k,
                                   int raster, int swizzle, int device) {
  auto a_strides = packed<typename Kernel::StrideA>(m, k);
  auto b_strides = packed<typename Kernel::StrideB>(n, k);
  auto c_strides = packed<typename Kernel::StrideD>(m, n);
  typename Gemm::Arguments call{
      cutlass::gemm::GemmUniversalMode::kGemm,
      {m, n, k, 1},
      {static_cast<const Element*>(a), a_strides, static_cast<const Element*>(b), b_strides},
      {{}, nullptr, {}, static_cast<Element*>(c), c_strides},
      hardware(device)};
  call.epilogue.thread.alpha = 1.0f;
  call.epilogue.thread.beta = 0.0f;
  using Order = cutlass::gemm::kernel::detail::RasterOrderOptions;
  call.scheduler.raster_order =
      raster == 1 ? Order::AlongM : raster == 2 ? Order::AlongN : Order::Heuristic;
  call.scheduler.max_swizzle_size = swizzle;
  return call;
}

bool unaligned(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 16 != 0; }

}  // namespace bf16_product

using namespace bf16_product;

extern "C" {

// Why the last call of this thread failed.
const char* bf16_gemm_failure() { return failure; }

// Bytes of dynamic shared memory, pipeline stages and threads of a block.
void bf16_gemm_facts(int* shared_bytes, int* stages, int* threads) {
  *shared_bytes = Kernel::SharedStorageSize;
  *stages = Mainloop::DispatchPolicy::Stages;
  *threads = Kernel::MaxThreadsPerBlock;
}

// Bytes of device memory that a call needs whatever the order of tiles (partial sums and counters of
// stream-K); 0 without stream-K. Rests on the present device's number of multiprocessors.
std::size_t bf16_gemm_workspace(int m, int n, int k) {
  int device = 0;
  cudaGetDevice(&device);
  std::size_t most = 0;
  for (int raster = 0; raster < 3; ++raster)
    for (int swizzle = 1; swizzle <= 8; swizzle *= 2)
      most = std::max(most, Gemm::get_workspace_size(arguments(nullptr, nullptr, nullptr, m, n, k,
                                                               raster, swizzle, device)));
  return most;
}

// One product on `stream`, with the order of tiles chosen at run time; 0, or a code of failure.
int bf16_gemm_ordered(const void* a, const void* b, void* c, int m, int n, int k, int raster,
                      int swizzle, void* workspace, std::size_t workspace_bytes,
                      cudaStream_t stream) {
  if (m <= 0 || n <= 0 || k <= 0) return refuse(1, "sizes must be positive: %d x %d x %d", m, n, k);
  if (k % kAligned || n % kAligned)
    return refuse(1, "TMA needs rows of a multiple of 16 bytes: n=%d, k=%d are not both divisible "
                  "by %d", n, k, kAligned);
  if (unaligned(a) || unaligned(b) || unaligned(c))
    return refuse(1, "TMA needs pointers aligned to 16 bytes");
  int device = 0;
  if (cudaError_t error = cudaGetDevice(&device))
    return refuse(2, "no device: %s", cudaGetErrorString(error));
  auto call = arguments(a, b, c, m, n, k, raster, swizzle, device);
  std::size_t needed = Gemm::get_workspace_size(call);
  if (needed > workspace_bytes)
    return refuse(1, "needs %zu bytes of workspace, got %zu", needed, workspace_bytes);
  Gemm gemm;
  auto status = gemm.can_implement(call);
  if (status == cutlass::Status::kSuccess) status = gemm.initialize(call, workspace, stream);
  if (status == cutlass::Status::kSuccess) status = gemm.run(stream);
  if (status != cutlass::Status::kSuccess)
    return refuse(3, "%s (%d bytes of shared memory asked for)", cutlass::cutlassGetStatusString(status),
                  static_cast<int>(Kernel::SharedStorageSize));
  return 0;
}

int bf16_gemm(const void* a, const void* b, void* c, int m, int n, int k, void* workspace,
              std::size_t workspace_bytes, cudaStream_t stream) {
  return bf16_gemm_ordered(a, b, c, m, n, k, RASTER, SWIZZLE, workspace, workspace_bytes, stream);
}

}  // extern "C"
