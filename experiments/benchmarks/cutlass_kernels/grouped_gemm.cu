// Y = X W for the tokens of a mixture of experts, in bf16 on Hopper: one launch for all experts.
//
// X is tokens x K with the rows of expert 0 first, then those of expert 1, ...; `ends[e]`, on the
// device, is the row behind the last one of expert e. W holds one matrix per expert; Y is tokens x
// N. B_LAYOUT says how each matrix of W lies in memory:
//   0: N x K, rows of K (a linear layer's weight);
//   1: K x N, rows of N.
// With WGRAD the third of a layer's products, dW = dY^T X for each expert, whose depth is its rows: x is dY
// (tokens x N), w is X (tokens x K), and y is dW, a matrix N x K per expert, zero for one without rows.
// The host never learns how many rows an expert has: a small kernel turns `ends` into the list of
// problems that the blocks share out among themselves. Experts without rows cost nothing.
// Pointers and rows must be aligned to 16 bytes: K and N divisible by 8.
//
// Build: as bf16_gemm.cu.

/* rooftree
launcher = "grouped_gemm"
failure = "grouped_gemm_failure"
args = ["x", "w", "y", "ends", "T", "E", "N", "K", "scratch", "scratch_bytes", "stream"]
where = [
    "PINGPONG == 1 or TILE_M >= 128",
    "TILE_M * TILE_N <= (24576 if PINGPONG == 1 else 49152)",
    "(TILE_M + TILE_N) * TILE_K <= 40960",
    "CLUSTER_M * CLUSTER_N <= 4",
]

[[input]]
name = "x"
dtype = "bfloat16"
shape = ["T", "K"]

[[input]]
name = "w"
dtype = "bfloat16"
shape = ["E", "N", "K"]

[[input]]
name = "ends"
dtype = "int32"
shape = ["E"]

[[output]]
name = "y"
dtype = "bfloat16"
shape = ["T", "N"]

[[workspace]]
name = "scratch"
bytes_from = "grouped_gemm_workspace"
args = ["E"]

[tunables]
TILE_M = { values = [64, 128, 256], default = 128, methods = ["compute.wgmma", "memory.shared_tiling"], help = "rows of the tile of C that a block holds" }
TILE_N = { values = [64, 128, 192, 256], default = 256, methods = ["compute.wgmma", "memory.shared_tiling"], help = "columns of it" }
TILE_K = { values = [64, 128], default = 64, methods = ["latency.mbarrier_pipeline"], help = "depth of a pipeline stage; the deeper, the fewer of them fit" }
CLUSTER_M = { values = [1, 2, 4], default = 2, methods = ["memory.cluster_multicast"], help = "blocks that read the same tile of B" }
CLUSTER_N = { values = [1, 2], default = 1, methods = ["memory.cluster_multicast"], help = "blocks that read the same tile of A" }
PINGPONG = { values = [0, 1], default = 0, methods = ["latency.warp_specialization"], help = "0: two warpgroups share a tile; 1: each has its own" }
RASTER = { values = [1, 2], default = 1, methods = ["memory.block_swizzle"], help = "order of an expert's tiles; 1: along M, 2: along N" }
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
#include "cutlass/gemm/group_array_problem_shape.hpp"
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
// Order of an expert's tiles: 1 along M, 2 along N; and the width, in tiles, of the
// bands that keep their inputs in L2 (1, 2, 4 or 8).
#ifndef RASTER
#define RASTER 1
#endif
#ifndef SWIZZLE
#define SWIZZLE 1
#endif
#ifndef B_LAYOUT
#define B_LAYOUT 0
#endif
#ifndef WGRAD
#define WGRAD 0
#endif

static_assert(PINGPONG || TILE_M % 128 == 0,
              "the cooperative schedule gives 64 rows to each of two warpgroups: TILE_M % 128 == 0");

namespace grouped_product {

using Element = cutlass::bfloat16_t;
using RowMajor = cutlass::layout::RowMajor;
using ColumnMajor = cutlass::layout::ColumnMajor;
using LayoutA = std::conditional_t<WGRAD, ColumnMajor, RowMajor>;
using LayoutB = std::conditional_t<B_LAYOUT == 0 && !WGRAD, ColumnMajor, RowMajor>;
using Tile = cute::Shape<cute::Int<TILE_M>, cute::Int<TILE_N>, cute::Int<TILE_K>>;
using Cluster = cute::Shape<cute::Int<CLUSTER_M>, cute::Int<CLUSTER_N>, cute::_1>;
using One = cute::Shape<int, int, int>;
using Problem = cutlass::gemm::GroupProblemShape<One>;
inline constexpr int kAligned = 16 / sizeof(Element);

using MainSchedule =
    std::conditional_t<PINGPONG, cutlass::gemm::KernelPtrArrayTmaWarpSpecializedPingpong,
                       cutlass::gemm::KernelPtrArrayTmaWarpSpecializedCooperative>;
using EpilogueSchedule =
    std::conditional_t<PINGPONG, cutlass::epilogue::PtrArrayTmaWarpSpecializedPingpong,
                       cutlass::epilogue::PtrArrayTmaWarpSpecializedCooperative>;

// A layout with a star asks for one matrix per group. No C is read.
using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster,
    cutlass::epilogue::collective::EpilogueTileAuto, float, float, void, RowMajor*, kAligned,
    Element, RowMajor*, kAligned, EpilogueSchedule>::CollectiveOp;

using Carveout = cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(
    sizeof(typename Epilogue::SharedStorage))>;
using Stages =
    std::conditional_t<STAGES == 0, Carveout, cutlass::gemm::collective::StageCount<STAGES>>;

using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Element, LayoutA*, kAligned, Element,
    LayoutB*, kAligned, float, Tile, Cluster, Stages, MainSchedule>::CollectiveOp;

using Kernel = cutlass::gemm::kernel::GemmUniversal<Problem, Mainloop, Epilogue>;
using Gemm = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;
using StrideA = typename Kernel::InternalStrideA;
using StrideB = typename Kernel::InternalStrideB;
using StrideD = typename Kernel::InternalStrideD;

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
__host__ __device__ Strides packed(int rows, int depth) {
  Strides strides{};
  if constexpr (cute::is_static<cute::tuple_element_t<0, Strides>>::value) {
    cute::get<1>(strides) = rows;
  } else {
    cute::get<0>(strides) = depth;
  }
  return strides;
}

// The problems of all experts, as lists in device memory at the start of the workspace.
struct Lists {
  One* shapes;
  const Element** x;
  const Element** w;
  Element** y;
  StrideA* x_strides;
  StrideB* w_strides;
  StrideD* y_strides;
  std::size_t bytes;
};

Lists lists_in(void* workspace, int experts) {
  Lists lists{};
  std::size_t at = 0;
  auto place = [&](auto*& list) {
    using Entry = std::remove_reference_t<decltype(*list)>;
    list = reinterpret_cast<Entry*>(static_cast<char*>(workspace) + at);
    at += (sizeof(Entry) * experts + 127) / 128 * 128;
  };
  place(lists.shapes);
  place(lists.x);
  place(lists.w);
  place(lists.y);
  place(lists.x_strides);
  place(lists.w_strides);
  place(lists.y_strides);
  lists.bytes = at;
  return lists;
}

__global__ void list_problems(Lists lists, const Element* x, const Element* w, Element* y,
                              const int* ends, int experts, int n, int k) {
  for (int e = blockIdx.x * blockDim.x + threadIdx.x; e < experts; e += gridDim.x * blockDim.x) {
    const int begin = e == 0 ? 0 : ends[e - 1];
    const int rows = max(ends[e] - begin, 0);
#if WGRAD
    // No tiles where there is no depth.
    lists.shapes[e] = cute::make_shape(rows > 0 ? n : 0, k, rows);
    lists.x[e] = x + static_cast<std::int64_t>(begin) * n;
    lists.w[e] = w + static_cast<std::int64_t>(begin) * k;
    lists.y[e] = y + static_cast<std::int64_t>(e) * n * k;
    lists.x_strides[e] = packed<StrideA>(n, rows);
    lists.w_strides[e] = packed<StrideB>(k, rows);
    lists.y_strides[e] = packed<StrideD>(n, k);
#else
    lists.shapes[e] = cute::make_shape(rows, n, k);
    lists.x[e] = x + static_cast<std::int64_t>(begin) * k;
    lists.w[e] = w + static_cast<std::int64_t>(e) * n * k;
    lists.y[e] = y + static_cast<std::int64_t>(begin) * n;
    lists.x_strides[e] = packed<StrideA>(rows, k);
    lists.w_strides[e] = packed<StrideB>(n, k);
    lists.y_strides[e] = packed<StrideD>(rows, n);
#endif
  }
}

#if WGRAD
// What belongs to an expert without rows is zero.
__global__ void clear_empty(Element* y, const int* ends, std::int64_t size) {
  const int e = blockIdx.y;
  if (ends[e] > (e == 0 ? 0 : ends[e - 1])) return;
  uint4* to = reinterpret_cast<uint4*>(y + e * size);
  for (std::int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < size / 8; i += gridDim.x * blockDim.x)
    to[i] = uint4{};
}
#endif

typename Gemm::Arguments arguments(const Lists& lists, int experts, int raster, int swizzle,
                                   int device) {
  typename Gemm::Arguments call{
      cutlass::gemm::GemmUniversalMode::kGrouped,
      {experts, lists.shapes, nullptr},
      {lists.x, lists.x_strides, lists.w, lists.w_strides},
      {{}, nullptr, nullptr, lists.y, lists.y_strides},
      hardware(device)};
  call.epilogue.thread.alpha = 1.0f;
  call.epilogue.thread.beta = 0.0f;
  using Order = std::decay_t<decltype(call.scheduler.raster_order)>;
  call.scheduler.raster_order = raster == 2 ? Order::AlongN : Order::AlongM;
  call.scheduler.max_swizzle_size = swizzle;
  return call;
}

bool unaligned(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 16 != 0; }

}  // namespace grouped_product

using namespace grouped_product;

extern "C" {

// Why the last call of this thread failed.
const char* grouped_gemm_failure() { return failure; }

// Bytes of dynamic shared memory, pipeline stages and threads of a block.
void grouped_gemm_facts(int* shared_bytes, int* stages, int* threads) {
  *shared_bytes = Kernel::SharedStorageSize;
  *stages = Mainloop::DispatchPolicy::Stages;
  *threads = Kernel::MaxThreadsPerBlock;
}

// Bytes of device memory that a call needs: the list of problems, and tensor maps for each
// multiprocessor. Rests on the present device's number of multiprocessors.
std::size_t grouped_gemm_workspace(int experts) {
  int device = 0;
  cudaGetDevice(&device);
  Lists lists = lists_in(nullptr, experts);
  return lists.bytes + Gemm::get_workspace_size(arguments(lists, experts, RASTER, SWIZZLE, device));
}

// All experts' products on `stream`, with the order of tiles chosen at run time; 0, or a code of
// failure. `rows` are those of X and Y. `workspace` must be aligned to 128 bytes and not in use by
// another call.
int grouped_gemm_ordered(const void* x, const void* w, void* y, const int* ends, int rows,
                         int experts, int n, int k, int raster, int swizzle, void* workspace,
                         std::size_t workspace_bytes, cudaStream_t stream) {
  if (rows < 0 || experts <= 0 || n <= 0 || k <= 0)
    return refuse(1, "sizes must be positive: %d rows, %d experts, n=%d, k=%d", rows, experts, n, k);
  if (k % kAligned || n % kAligned)
    return refuse(1, "TMA needs rows of a multiple of 16 bytes: n=%d, k=%d are not both divisible "
                  "by %d", n, k, kAligned);
  if (unaligned(x) || unaligned(w) || unaligned(y))
    return refuse(1, "TMA needs pointers aligned to 16 bytes");
  if (reinterpret_cast<std::uintptr_t>(workspace) % 128 != 0)
    return refuse(1, "the workspace holds tensor maps: align it to 128 bytes");
#if WGRAD
  clear_empty<<<dim3(16, experts), 256, 0, stream>>>(static_cast<Element*>(y), ends,
                                                     static_cast<std::int64_t>(n) * k);
  if (cudaError_t error = cudaGetLastError())
    return refuse(2, "the kernel that clears: %s", cudaGetErrorString(error));
#endif
  if (rows == 0) return 0;
  int device = 0;
  if (cudaError_t error = cudaGetDevice(&device))
    return refuse(2, "no device: %s", cudaGetErrorString(error));
  Lists lists = lists_in(workspace, experts);
  auto call = arguments(lists, experts, raster, swizzle, device);
  std::size_t needed = lists.bytes + Gemm::get_workspace_size(call);
  if (needed > workspace_bytes)
    return refuse(1, "needs %zu bytes of workspace, got %zu", needed, workspace_bytes);
  list_problems<<<(experts + 127) / 128, 128, 0, stream>>>(
      lists, static_cast<const Element*>(x), static_cast<const Element*>(w),
      static_cast<Element*>(y), ends, experts, n, k);
  if (cudaError_t error = cudaGetLastError())
    return refuse(2, "the kernel that lists the problems: %s", cudaGetErrorString(error));
  Gemm gemm;
  auto status = gemm.can_implement(call);
  if (status == cutlass::Status::kSuccess)
    status = gemm.initialize(call, static_cast<char*>(workspace) + lists.bytes, stream);
  if (status == cutlass::Status::kSuccess) status = gemm.run(stream);
  if (status != cutlass::Status::kSuccess)
    return refuse(3, "%s (%d bytes of shared memory asked for)",
                  cutlass::cutlassGetStatusString(status),
                  static_cast<int>(Kernel::SharedStorageSize));
  return 0;
}

int grouped_gemm(const void* x, const void* w, void* y, const int* ends, int rows, int experts,
                 int n, int k, void* workspace, std::size_t workspace_bytes, cudaStream_t stream) {
  return grouped_gemm_ordered(x, w, y, ends, rows, experts, n, k, RASTER, SWIZZLE, workspace,
                              workspace_bytes, stream);
}

}  // extern "C"
