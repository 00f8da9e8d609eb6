// Y = X W^T for the tokens of a mixture of experts, in bf16 on Hopper, by two tensor maps for all.
//
// Called as grouped_gemm.cu, and computes the same. There, each group has tensor maps of its own,
// which blocks rewrite whenever they pass from one expert to another. Here all of X is one matrix
// and all of W another, each with one map that the host makes; a tile begins at its expert's first
// row, wherever that is. Rows of the next expert that a tile reaches into are computed with it and
// not stored, so that the epilogue stores by rows and not by TMA.
//
// Blocks take the next tile when they are free (DYNAMIC). Dealt out beforehand, tiles that take
// unequal times let blocks drift apart, until they no longer find each other's rows of W in L2. An
// expert's last tile is half empty on average: pieces of 64 rows that hold none of its rows need not
// be multiplied (SKIP).
//
// X is tokens x K with the rows of expert 0 first; `ends[e]`, on the device, is the row behind the
// last one of expert e. W is experts x N x K, or experts x K x N with B_LAYOUT 1, where K must be
// divisible by TILE_K; Y is tokens x N. K and N divisible by 8.
//
// With WGRAD the third of a layer's products, dW = dY^T X for each expert, whose depth is its rows: x is dY
// (tokens x N), w is X (tokens x K), and y is dW, a matrix N x K per expert, zero for one without rows. The
// last step along the depth may reach into the next expert's rows, whatever those hold: the warps that
// multiply zero them in shared memory first.
//
// Build: as bf16_gemm.cu.

/* rooftree
launcher = "grouped_gemm"
failure = "grouped_gemm_failure"
args = ["x", "w", "y", "ends", "T", "E", "N", "K", "scratch", "scratch_bytes", "stream"]
where = [
    "TILE_M <= 128 if PINGPONG == 1 else TILE_M >= 128",
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
TILE_N = { values = [64, 128, 192, 256], default = 128, methods = ["compute.wgmma", "memory.shared_tiling"], help = "columns of it" }
TILE_K = { values = [64, 128], default = 64, methods = ["latency.mbarrier_pipeline"], help = "depth of a pipeline stage; the deeper, the fewer of them fit" }
CLUSTER_M = { values = [1, 2, 4], default = 1, methods = ["memory.cluster_multicast"], help = "blocks that read the same tile of B" }
CLUSTER_N = { values = [1, 2], default = 2, methods = ["memory.cluster_multicast"], help = "blocks that read the same tile of A" }
PINGPONG = { values = [0, 1], default = 1, methods = ["latency.warp_specialization"], help = "0: two warpgroups share a tile; 1: each has its own" }
DYNAMIC = { values = [0, 1], default = 1, methods = ["latency.persistent_kernel"], help = "1: a block takes the next tile when it is free; 0: tiles are dealt out beforehand" }
SKIP = { values = [0, 1], default = 1, methods = ["compute.wgmma"], help = "1: pieces of 64 rows without any of the expert's are not multiplied" }
RASTER = { values = [1, 2], default = 1, methods = ["memory.block_swizzle"], help = "1: bands of 8 * SWIZZLE rows of tiles, 2: of SWIZZLE" }
SWIZZLE = { values = [1, 2, 4, 8], default = 4, methods = ["memory.block_swizzle"], help = "width of the bands that keep their inputs in L2" }
*/

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <mutex>

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include "cute/tensor.hpp"
#include "cutlass/arch/reg_reconfig.h"
#include "cutlass/cutlass.h"
#include "cutlass/gemm/collective/collective_builder.hpp"
#include "cutlass/gemm/dispatch_policy.hpp"
#include "cutlass/pipeline/pipeline.hpp"

// Tile of Y that a block holds, and the depth of one pipeline stage.
#ifndef TILE_M
#define TILE_M 128
#endif
#ifndef TILE_N
#define TILE_N 128
#endif
#ifndef TILE_K
#define TILE_K 64
#endif
// Blocks that share tiles by multicast: CLUSTER_M of them read one tile of W, CLUSTER_N one of X.
#ifndef CLUSTER_M
#define CLUSTER_M 1
#endif
#ifndef CLUSTER_N
#define CLUSTER_N 2
#endif
// 0: as many stages as shared memory holds.
#ifndef STAGES
#define STAGES 0
#endif
// 0: cooperative, two warpgroups share a tile. 1: pingpong, they take turns with tiles of their own,
// so that one stores while the other multiplies.
#ifndef PINGPONG
#define PINGPONG 1
#endif
// 1: a block takes the next tile when it is free. 0: tiles are dealt out beforehand.
#ifndef DYNAMIC
#define DYNAMIC 1
#endif
// 1: pieces of 64 rows that hold none of the expert's are not multiplied.
#ifndef SKIP
#define SKIP 1
#endif
// Order of an expert's tiles: column by column within bands of rows, 8 * SWIZZLE of them with RASTER
// 1, SWIZZLE with RASTER 2; in units of a cluster's tiles.
#ifndef RASTER
#define RASTER 1
#endif
#ifndef SWIZZLE
#define SWIZZLE 4
#endif
// How each matrix of W lies in memory: 0: N x K, rows of K. 1: K x N, rows of N.
#ifndef B_LAYOUT
#define B_LAYOUT 0
#endif
// 1: dW = dY^T X for each expert. Tiles are of dW, TILE_M along N and TILE_N along K; SKIP has no effect.
#ifndef WGRAD
#define WGRAD 0
#endif

static_assert(TILE_M % (PINGPONG ? 64 : 128) == 0,
              "a warpgroup takes 64 rows: TILE_M % 64 == 0, or % 128 where two share a tile");
static_assert(TILE_N % 64 == 0, "the epilogue stores 64 columns at a time: TILE_N % 64 == 0");
static_assert(!WGRAD || B_LAYOUT == 0, "with WGRAD there are no weights to lie one way or the other");

namespace expert_product {

using Element = cutlass::bfloat16_t;
using RowMajor = cutlass::layout::RowMajor;
using ColumnMajor = cutlass::layout::ColumnMajor;
using LayoutA = std::conditional_t<WGRAD, ColumnMajor, RowMajor>;
using LayoutB = std::conditional_t<B_LAYOUT == 0 && !WGRAD, ColumnMajor, RowMajor>;
using Tile = cute::Shape<cute::Int<TILE_M>, cute::Int<TILE_N>, cute::Int<TILE_K>>;
using Cluster = cute::Shape<cute::Int<CLUSTER_M>, cute::Int<CLUSTER_N>, cute::_1>;
inline constexpr int kAligned = 16 / sizeof(Element);
inline constexpr int kMostExperts = 1024;
inline constexpr int kGroup = 128, kThreads = 3 * kGroup;  // one warpgroup loads, two compute
inline constexpr int kComputingWarps = 2 * kGroup / 32;
inline constexpr int kStagedColumns = 64;
inline constexpr int kPieceRows = 64;  // of one WGMMA
inline constexpr int kPieces = TILE_M / kPieceRows / (PINGPONG ? 1 : 2);  // of a warpgroup
inline constexpr int kSharing = PINGPONG ? kGroup : 2 * kGroup;  // threads that multiply the same tile
inline constexpr int kBlocks = CLUSTER_M * CLUSTER_N;
inline constexpr int kAhead = 4;  // tiles that may be handed out before they are asked for

// What a block keeps beside the tiles: where each expert's tiles begin in the order of all tiles,
// where its rows end, and 16 x 64 results for each computing warp.
struct Beside {
  alignas(16) Element results[kComputingWarps][16 * kStagedColumns];
  int first[kMostExperts + 1];
  int end[kMostExperts];
};

// In the workspace: how many tiles were taken beyond each cluster's first, and how many clusters are
// done. Zero before a call, and the last cluster leaves it so.
struct Progress {
  unsigned taken, done;
};
inline constexpr int kWorkspaceBytes = 16;
static_assert(sizeof(Progress) <= kWorkspaceBytes);

// How a cluster's tiles reach its warps: one warp of its first block writes each into the shared
// memory of all its blocks, and waits for all who read it there before it uses that place again.
struct Dispenser {
  cutlass::arch::ClusterTransactionBarrier given[kAhead];
  cutlass::arch::ClusterBarrier read[kAhead];  // those of the first block
  std::uint32_t tiles[kAhead];

  static constexpr int kReaders = kComputingWarps + 1;  // warps of a block

  __device__ void init() {
    for (int at = 0; at < kAhead; ++at) {
      given[at].init(1);
      read[at].init(kReaders * kBlocks);
    }
    cutlass::arch::fence_barrier_init();
  }

  // The tile that follows a warp's `turn`-th. All threads of a reading warp.
  __device__ int next(int turn, int lane) {
    const int place = turn % kAhead;
    given[place].wait(turn / kAhead % 2);
    const int tile = static_cast<int>(tiles[place]);
    __syncwarp();
    if (lane == 0) read[place].arrive(0u);
    return tile;
  }

  __device__ void await_readers(int turn) { read[turn % kAhead].wait(turn / kAhead % 2); }

  // Takes tiles until there are none, and returns when the last was read. All threads of one warp.
  __device__ void hand_out(Progress& progress, int clusters, int total, int lane) {
    int turn = 0;
    for (bool more = true; more; ++turn) {
      if (turn >= kAhead) await_readers(turn - kAhead);
      unsigned tile = 0;
      if (lane == 0) tile = clusters + atomicAdd(&progress.taken, 1u);
      tile = __shfl_sync(0xffffffffu, tile, 0);
      more = tile < static_cast<unsigned>(total);
      if (lane < kBlocks) {
        const int place = turn % kAhead;
        given[place].arrive_and_expect_tx(sizeof tile, lane);
        cute::store_shared_remote(tile, cute::cast_smem_ptr_to_uint(&tiles[place]),
                                  cute::cast_smem_ptr_to_uint(&given[place]), lane);
      }
    }
    for (int last = max(turn - kAhead, 0); last < turn; ++last) await_readers(last);
  }
};

using Carveout =
    cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(sizeof(Beside) + 1024)>;
using Stages =
    std::conditional_t<STAGES == 0, Carveout, cutlass::gemm::collective::StageCount<STAGES>>;

// The library's main loop; the walk through tiles and the epilogue are below.
using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Element, LayoutA, kAligned, Element, LayoutB,
    kAligned, float, Tile, Cluster, Stages,
    std::conditional_t<PINGPONG, cutlass::gemm::KernelTmaWarpSpecializedPingpong,
                       cutlass::gemm::KernelTmaWarpSpecializedCooperative>>::CollectiveOp;
using TiledMma = typename Mainloop::TiledMma;
using Pipeline = typename Mainloop::MainloopPipeline;
using Turns = cutlass::OrderedSequenceBarrier<1, 2>;

struct Shared {
  alignas(1024) typename Mainloop::TensorStorage tiles;
  alignas(16) typename Mainloop::PipelineStorage pipeline;
  alignas(16) typename Turns::SharedStorage turns;
  Dispenser dispenser;
  Beside beside;
};
static_assert(sizeof(Shared) <= 232448,
              "needs more shared memory than a block of sm_90 has (227 KB): smaller tile or STAGES");

struct Problem {
  typename Mainloop::Params maps;
  Element* y;
  const int* ends;
  Progress* progress;
  int experts, rows, n, k, band;
};

// One block's share of a cluster's tile: its first row and column in the matrix at `y`, of which rows from
// `end` on are not stored; where its part of X begins along the depth, and its part of W in the matrix of
// all experts, along N and along K; and its expert's rows, with WGRAD its depth.
struct Work {
  Element* y;
  int row, end, column, x_k, weights_n, weights_k, rows;
};

// Columns of Y.
__device__ int width(const Problem& problem) { return WGRAD ? problem.k : problem.n; }

// Clusters' tiles below each other in what an expert of `rows` rows has of Y.
__device__ int tiles_down(const Problem& problem, int rows) {
  const int stored = WGRAD ? (rows > 0 ? problem.n : 0) : rows;
  return (stored + TILE_M * CLUSTER_M - 1) / (TILE_M * CLUSTER_M);
}

// And beside each other.
__device__ int tiles_across(const Problem& problem) {
  return (width(problem) + TILE_N * CLUSTER_N - 1) / (TILE_N * CLUSTER_N);
}

// Counts every expert's tiles, in clusters, and leaves the running sums and the ends in shared
// memory. All threads of one warp.
__device__ void survey(const Problem& problem, Beside& beside, int lane) {
  const int across = tiles_across(problem);
  int before = 0;
  if (lane == 0) beside.first[0] = 0;
  for (int base = 0; base < problem.experts; base += 32) {
    const int expert = base + lane;
    int tiles = 0;
    if (expert < problem.experts) {
      const int begin = expert == 0 ? 0 : problem.ends[expert - 1];
      const int end = problem.ends[expert];
      beside.end[expert] = end;
      tiles = tiles_down(problem, max(end - begin, 0)) * across;
    }
    for (int step = 1; step < 32; step *= 2) {
      const int left = __shfl_up_sync(0xffffffffu, tiles, step);
      if (lane >= step) tiles += left;
    }
    if (expert < problem.experts) beside.first[expert + 1] = before + tiles;
    before += __shfl_sync(0xffffffffu, tiles, 31);
  }
}

// The expert of the `index`-th tile: the last one whose first tile is not behind it.
__device__ int expert_at(const Problem& problem, const Beside& beside, int index) {
  int low = 0, high = problem.experts;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (beside.first[middle] <= index ? low : high) = middle;
  }
  return low;
}

__device__ int begin_of(const Beside& beside, int expert) { return expert == 0 ? 0 : beside.end[expert - 1]; }

__device__ int rows_of(const Beside& beside, int expert) {
  return beside.end[expert] - begin_of(beside, expert);
}

// The tile that this block of its cluster computes as the cluster's `index`-th of all.
__device__ Work work_at(const Problem& problem, const Beside& beside, int index, int rank) {
  const int expert = expert_at(problem, beside, index);
  const int begin = begin_of(beside, expert), end = beside.end[expert], rows = end - begin;
  const int down = tiles_down(problem, rows), across = tiles_across(problem);
  const int local = index - beside.first[expert];
  const int band = local / (problem.band * across);
  const int height = min(problem.band, down - band * problem.band);
  const int within = local - band * problem.band * across;
  const int m = (band * problem.band + within % height) * CLUSTER_M + rank % CLUSTER_M;
  const int n = within / height * CLUSTER_N + rank / CLUSTER_M;
  const int column = n * TILE_N;
  if (WGRAD) {
    Element* y = problem.y + static_cast<std::int64_t>(expert) * problem.n * problem.k;
    return {y, m * TILE_M, problem.n, column, begin, column, begin, rows};
  }
  if (B_LAYOUT == 1)
    return {problem.y, begin + m * TILE_M, end, column, 0, column, expert * problem.k, rows};
  return {problem.y, begin + m * TILE_M, end, column, 0, expert * problem.n + column, 0, rows};
}

__device__ void stage_matrices(std::uint32_t address, const std::uint32_t (&values)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
               "r"(values[0]), "r"(values[1]), "r"(values[2]), "r"(values[3])
               : "memory");
}

__device__ std::uint32_t pair(float low, float high) {
  __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
  return reinterpret_cast<std::uint32_t&>(both);
}

// How many of a warpgroup's pieces hold rows of the expert; the others are behind them. `group` is 0
// where a warpgroup has a tile of its own.
__device__ int pieces_used(const Work& work, int group) {
  if (!SKIP || WGRAD) return kPieces;
  int used = 0;
  for (int piece = 0; piece < kPieces; ++piece)
    used += work.row + (piece * (PINGPONG ? 1 : 2) + group) * kPieceRows < work.end;
  return used;
}

// Zeroes a stage of an operand from depth `own` on; `thread` is one of the kSharing that do it together.
// Eight neighbouring columns are 16 bytes that swizzling moves as one.
template <class Columns, class Staged>
__device__ void clear_from(Element* operand, Columns, Staged, int stage, int own, unsigned thread) {
  const auto places = cute::as_position_independent_swizzle_layout(Staged{});
  constexpr unsigned kChunks = Columns::value / kAligned;  // of a row
  const int column = thread % kChunks * kAligned;
  for (unsigned k = own + thread / kChunks; k < TILE_K; k += kSharing / kChunks)
    *reinterpret_cast<uint4*>(operand + places(column, k, stage)) = uint4{};
}

// Zeroes what a stage holds of the next expert, before the threads that share it multiply it. It must be
// zero in both operands, for zero times Inf is NaN.
__device__ void clear_behind(typename Mainloop::TensorStorage& tiles, int stage, int own) {
  using Staging = typename Mainloop::TensorStorage;
  static_assert(offsetof(Staging, smem_A) % 1024 == 0 && offsetof(Staging, smem_B) % 1024 == 0,
                "swizzling goes by addresses: places within an operand are those only if it is aligned");
  const unsigned thread = threadIdx.x % kSharing;
  clear_from(tiles.smem_A.data(), cute::Int<TILE_M>{}, typename Mainloop::SmemLayoutA{}, stage, own, thread);
  clear_from(tiles.smem_B.data(), cute::Int<TILE_N>{}, typename Mainloop::SmemLayoutB{}, stage, own, thread);
  // Zeros before WGMMA's reads, and, as a stage is released only after those, before TMA's next writes.
  cutlass::arch::fence_view_async_shared();
  cutlass::arch::NamedBarrier::sync(kSharing, 0u);  // with PINGPONG only that of the present turn is here
}

// The main loop for a warpgroup's first kUsed pieces alone, 0 of them to pass its stages on; like
// the library's it leaves the last stage to mma_tail. `prepare(step, stage)` is called before a stage
// is multiplied.
template <int kUsed, class Sums, class Prepare>
__device__ void multiply_some(Pipeline& pipeline, typename Mainloop::PipelineState state, Sums& sums,
                              int depth, int group, typename Mainloop::TensorStorage& tiles,
                              const Prepare& prepare) {
  using namespace cute;
  static_assert(Mainloop::K_PIPE_MMAS == 1, "one stage is in flight");
  const auto x = make_tensor(make_smem_ptr(tiles.smem_A.data()), typename Mainloop::SmemLayoutA{});
  const auto w = make_tensor(make_smem_ptr(tiles.smem_B.data()), typename Mainloop::SmemLayoutB{});
  TiledMma product;
  auto slice = product.get_slice(group * kGroup);
  auto x_pieces = slice.make_fragment_A(slice.partition_A(x));  // (instruction, piece, depth, stage)
  auto w_pieces = slice.make_fragment_B(slice.partition_B(w));
  auto behind = state;
  product.accumulate_ = GMMA::ScaleOut::Zero;
  for (int step = 0; step < depth; ++step) {
    pipeline.consumer_wait(state, pipeline.consumer_try_wait(state));
    if constexpr (kUsed > 0) {
      const int stage = state.index();
      prepare(step, stage);
      warpgroup_fence_operand(sums);
      warpgroup_arrive();
#pragma unroll
      for (int part = 0; part < size<2>(x_pieces); ++part) {
#pragma unroll
        for (int piece = 0; piece < kUsed; ++piece) {
          auto sum = sums(_, piece, 0);
          gemm(product, x_pieces(_, piece, part, stage), w_pieces(_, 0, part, stage), sum);
        }
        product.accumulate_ = GMMA::ScaleOut::One;
      }
      warpgroup_commit_batch();
      warpgroup_wait<1>();
      warpgroup_fence_operand(sums);
    }
    if (step > 0) {
      pipeline.consumer_release(behind);
      ++behind;
    }
    ++state;
  }
}

// Stores a warp's 16 x TILE_N sums, 64 columns at a time through shared memory of its own, so that
// eight neighbouring lanes write 128 bytes of a row. Pieces of 16 bytes are exchanged by the row's
// index, so that neither side meets a bank twice.
//
// sums: as WGMMA leaves them: 4 numbers for every 8 columns, two of row lane / 4, two of that + 8.
template <class Sums>
__device__ void store_rows(const Problem& problem, const Work& work, int first_row, const Sums& sums,
                           Element* staged, int lane) {
  const std::uint32_t base = cute::cast_smem_ptr_to_uint(staged);
  const int from_row = (lane / 8 % 2) * 8 + lane % 8, from_piece = lane / 16;
#pragma unroll
  for (int chunk = 0; chunk < TILE_N / kStagedColumns; ++chunk) {
#pragma unroll
    for (int eight = 0; eight < 8; eight += 2) {
      std::uint32_t values[4];
#pragma unroll
      for (int matrix = 0; matrix < 4; ++matrix) {
        const int at = ((chunk * 8 + eight + matrix / 2) * 2 + matrix % 2) * 2;
        values[matrix] = pair(sums(at), sums(at + 1));
      }
      const int piece = (eight + from_piece) ^ (from_row & 7);
      stage_matrices(base + from_row * 128 + piece * 16, values);
    }
    __syncwarp();
#pragma unroll
    for (int turn = 0; turn < 4; ++turn) {
      const int row = turn * 4 + lane / 8, piece = lane % 8;
      const int y_row = work.row + first_row + row;
      const int y_column = work.column + chunk * kStagedColumns + piece * 8;
      if (y_row < work.end && y_column < width(problem)) {
        const auto* from = reinterpret_cast<const uint4*>(staged) + row * 8 + (piece ^ (row & 7));
        auto* to = work.y + static_cast<std::int64_t>(y_row) * width(problem) + y_column;
        *reinterpret_cast<uint4*>(to) = *from;
      }
    }
    __syncwarp();
  }
}

__global__ void __launch_bounds__(kThreads, 1)
    multiply(const __grid_constant__ Problem problem) {
  using namespace cute;
  extern __shared__ char memory[];
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  const int warp = cutlass::canonical_warp_idx_sync(), lane = threadIdx.x % 32;
  const int rank = static_cast<int>(cute::block_rank_in_cluster());
  const int group = warp / 4 - 1;  // of the computing warpgroups; -1: the one that loads
  const bool loads = group < 0;

  if (warp == 0) survey(problem, shared.beside, lane);
  if (warp == 1 && cute::elect_one_sync()) Mainloop::prefetch_tma_descriptors(problem.maps);

  typename Pipeline::Params roles;
  if (warp == 0) roles.role = Pipeline::ThreadCategory::Producer;
  if (!loads) roles.role = Pipeline::ThreadCategory::Consumer;
  roles.is_leader = threadIdx.x % kGroup == 0;
  roles.num_consumers = kSharing;
  roles.transaction_bytes = problem.maps.tma_transaction_bytes;
  Pipeline pipeline(shared.pipeline, roles, Cluster{});
  typename Turns::Params order;
  order.group_id = static_cast<uint32_t>(max(group, 0));
  order.group_size = kGroup;
  Turns turns(shared.turns, order);
  if (DYNAMIC && threadIdx.x == 0) shared.dispenser.init();

  // No block may signal another's barriers before they exist.
  __syncthreads();
  if constexpr (size(Cluster{}) > 1) {
    cute::cluster_arrive_relaxed();
    cute::cluster_wait();
  }

  const int clusters = gridDim.y / CLUSTER_N, total = shared.beside.first[problem.experts];
  const int whole = (problem.k + TILE_K - 1) / TILE_K;
  // Steps along the depth of a tile whose expert has `rows` rows.
  const auto steps = [&](int rows) { return WGRAD ? (rows - 1) / TILE_K + 1 : whole; };
  const int own = blockIdx.y / CLUSTER_N;
  const auto following = [&](int tile, int turn) {
    return DYNAMIC ? shared.dispenser.next(turn, lane) : tile + clusters;
  };
  Mainloop mainloop;

  if (loads) {
    cutlass::arch::warpgroup_reg_dealloc<40>();
    if (warp == 0) {
      auto state = cutlass::make_producer_start_state<Pipeline>();
      const int x_m = WGRAD ? problem.n : problem.rows, x_k = WGRAD ? problem.rows : problem.k;
      const auto x = problem.maps.tma_load_a.get_tma_tensor(make_shape(x_m, x_k, 1));
      const int w_n = WGRAD ? problem.k : problem.n * (B_LAYOUT == 0 ? problem.experts : 1);
      const int w_k = WGRAD ? problem.rows : problem.k * (B_LAYOUT == 1 ? problem.experts : 1);
      const auto w = problem.maps.tma_load_b.get_tma_tensor(make_shape(w_n, w_k, 1));
      for (int at = own, turn = 0; at < total; at = following(at, turn++)) {
        const Work work = work_at(problem, shared.beside, at, rank);
        auto x_tiles = local_tile(domain_offset(make_coord(work.row, work.x_k, 0), x), Tile{},
                                  make_coord(_, _, _), Step<_1, Underscore, _1>{});
        auto w_tiles = local_tile(domain_offset(make_coord(work.weights_n, work.weights_k, 0), w), Tile{},
                                  make_coord(_, _, _), Step<Underscore, _1, _1>{});
        auto along = make_coord_iterator(shape<3>(x_tiles));
        const int depth = steps(work.rows);
        mainloop.load(problem.maps, pipeline, state, cute::make_tuple(x_tiles, w_tiles),
                      make_coord(0, 0, _, 0), along, depth, lane, static_cast<uint32_t>(rank),
                      shared.tiles);
        state.advance(depth);
      }
      mainloop.load_tail(pipeline, state);
    } else if (DYNAMIC && warp == 1 && rank == 0) {
      if (own < total) shared.dispenser.hand_out(*problem.progress, clusters, total, lane);
      if (lane == 0 && atomicAdd(&problem.progress->done, 1u) == clusters - 1)
        *problem.progress = {};
    }
  } else {
    cutlass::arch::warpgroup_reg_alloc<232>();
    const int user = threadIdx.x - (PINGPONG ? group + 1 : 1) * kGroup;
    const int half = PINGPONG ? 0 : group;
    auto* staged = shared.beside.results[warp - kGroup / 32];
    typename Mainloop::PipelineState state;
    auto places = TiledMma{}.get_thread_slice(user).partition_C(
        make_identity_tensor(make_shape(Int<TILE_M>{}, Int<TILE_N>{})));
    // Sums live in one branch from their first product to their last store: where branches met
    // while products are under way, the compiler would wait for each of them.
    const auto compute = [&](const Work& work, auto used) {
      auto sums = partition_fragment_C(TiledMma{}, take<0, 2>(Tile{}));
      static_assert(size<2>(decltype(sums){}) == 1, "one instruction must span TILE_N");
      static_assert(size<1>(decltype(sums){}) == kPieces && kPieces <= 2);
      const int depth = steps(work.rows);
      if constexpr (PINGPONG) turns.wait();
      const auto prepare = [&](int step, int stage) {
        const int own = work.rows - step * TILE_K;
        if (WGRAD && own < TILE_K) clear_behind(shared.tiles, stage, own);
      };
      if constexpr (used == kPieces && !WGRAD)
        mainloop.mma(pipeline, state, sums, depth, user, shared.tiles, problem.maps);
      else
        multiply_some<used>(pipeline, state, sums, depth, half, shared.tiles, prepare);
      if constexpr (PINGPONG) turns.arrive();
      mainloop.mma_tail(pipeline, state, depth);
#pragma unroll
      for (int piece = 0; piece < used; ++piece) {
        const int first_row = get<0>(places(0, piece, 0)) - lane / 4;
        store_rows(problem, work, first_row, sums(_, piece, 0), staged, lane);
      }
    };
    for (int at = own, turn = 0; at < total; at = following(at, turn++)) {
      int rows = 0;
      if (!PINGPONG || turn % 2 == group) {
        const Work work = work_at(problem, shared.beside, at, rank);
        const int used = pieces_used(work, half);
        if (used == kPieces)
          compute(work, Int<kPieces>{});
        else if (kPieces == 2 && used == 1)
          compute(work, Int<1>{});
        else
          compute(work, Int<0>{});
        rows = work.rows;
      } else if (WGRAD) {
        rows = rows_of(shared.beside, expert_at(problem, shared.beside, at));
      }
      state.advance(steps(rows));
    }
  }
}

inline thread_local char failure[256] = "";

template <class... Args>
int refuse(int code, const char* format, Args... args) {
  std::snprintf(failure, sizeof failure, format, args...);
  return code;
}

// Clusters that run at once on a device, with the function's limit of shared memory raised; asked
// once per device.
cudaError_t clusters_at_once(int device, const cudaLaunchConfig_t& launch, int* clusters) {
  static std::mutex guard;
  static int known[64];
  std::lock_guard<std::mutex> hold(guard);
  int& count = known[device & 63];
  cudaError_t error = cudaSuccess;
  if (count == 0) {
    error = cudaFuncSetAttribute(multiply, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(sizeof(Shared)));
    if (error == cudaSuccess) error = cudaOccupancyMaxActiveClusters(&count, multiply, &launch);
  }
  *clusters = count;
  return error;
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

bool unaligned(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 16 != 0; }

}  // namespace expert_product

using namespace expert_product;

extern "C" {

// Why the last call of this thread failed.
const char* grouped_gemm_failure() { return failure; }

// Bytes of dynamic shared memory, pipeline stages and threads of a block.
void grouped_gemm_facts(int* shared_bytes, int* stages, int* threads) {
  *shared_bytes = static_cast<int>(sizeof(Shared));
  *stages = Mainloop::DispatchPolicy::Stages;
  *threads = kThreads;
}

// Bytes of device memory that a call needs, however many experts there are.
std::size_t grouped_gemm_workspace(int) { return kWorkspaceBytes; }

// All experts' products on `stream`, with the order of tiles chosen at run time; 0, or a code of
// failure. `rows` are those of X and Y. `workspace` must be zero before its first call, which each
// leaves it, and not in use by another call.
int grouped_gemm_ordered(const void* x, const void* w, void* y, const int* ends, int rows,
                         int experts, int n, int k, int raster, int swizzle, void* workspace,
                         std::size_t workspace_bytes, cudaStream_t stream) {
  if (rows < 0 || experts <= 0 || n <= 0 || k <= 0)
    return refuse(1, "sizes must be positive: %d rows, %d experts, n=%d, k=%d", rows, experts, n, k);
  if (experts > kMostExperts)
    return refuse(1, "%d experts are more than the %d that fit its table", experts, kMostExperts);
  const int piled = B_LAYOUT == 1 ? k : n;  // of each expert's W, in the matrix of all of them
  if (!WGRAD && static_cast<std::int64_t>(experts) * piled > INT32_MAX)
    return refuse(1, "%d experts of %d rows pass what a coordinate holds", experts, piled);
  if (B_LAYOUT == 1 && k % TILE_K)
    return refuse(1, "with rows of N, k=%d must be divisible by %d", k, TILE_K);
  if (k % kAligned || n % kAligned)
    return refuse(1, "TMA needs rows of a multiple of 16 bytes: n=%d, k=%d are not both divisible "
                  "by %d", n, k, kAligned);
  if (unaligned(x) || unaligned(w) || unaligned(y))
    return refuse(1, "TMA needs pointers aligned to 16 bytes");
  if (workspace_bytes < kWorkspaceBytes || unaligned(workspace))
    return refuse(1, "needs %d bytes of workspace, aligned to 16, got %zu", kWorkspaceBytes,
                  workspace_bytes);
#if WGRAD
  clear_empty<<<dim3(16, experts), 256, 0, stream>>>(static_cast<Element*>(y), ends,
                                                     static_cast<std::int64_t>(n) * k);
  if (cudaError_t error = cudaGetLastError())
    return refuse(2, "the kernel that clears: %s", cudaGetErrorString(error));
#endif
  if (rows == 0) return 0;

  int device = 0, clusters = 0;
  if (cudaError_t error = cudaGetDevice(&device))
    return refuse(2, "no device: %s", cudaGetErrorString(error));
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {CLUSTER_M, CLUSTER_N, 1};
  cudaLaunchConfig_t launch{};
  launch.gridDim = dim3(CLUSTER_M, CLUSTER_N, 1);
  launch.blockDim = dim3(kThreads, 1, 1);
  launch.dynamicSmemBytes = sizeof(Shared);
  launch.stream = stream;
  launch.attrs = &attribute;
  launch.numAttrs = 1;
  if (cudaError_t error = clusters_at_once(device, launch, &clusters))
    return refuse(2, "%d bytes of shared memory in clusters of %d x %d: %s",
                  static_cast<int>(sizeof(Shared)), CLUSTER_M, CLUSTER_N, cudaGetErrorString(error));
  if (clusters == 0)
    return refuse(2, "no cluster of %d x %d fits this device", CLUSTER_M, CLUSTER_N);
  launch.gridDim = dim3(CLUSTER_M, CLUSTER_N * clusters, 1);

  Problem problem{};
  const auto by_rows = cute::make_stride(static_cast<std::int64_t>(k), cute::_1{}, std::int64_t{0});
  const auto by_columns =
      cute::make_stride(cute::_1{}, static_cast<std::int64_t>(n), std::int64_t{0});
  const auto* x_begin = static_cast<const Element*>(x);
  const auto* w_begin = static_cast<const Element*>(w);
#if WGRAD
  const auto x_columns = cute::make_stride(cute::_1{}, static_cast<std::int64_t>(k), std::int64_t{0});
  problem.maps = Mainloop::to_underlying_arguments(
      cute::make_shape(n, k, rows, 1), {x_begin, by_columns, w_begin, x_columns}, nullptr);
#elif B_LAYOUT == 0
  problem.maps = Mainloop::to_underlying_arguments(
      cute::make_shape(rows, experts * n, k, 1), {x_begin, by_rows, w_begin, by_rows}, nullptr);
#else
  // One matrix of all experts' rows of N below each other: deeper than X, so it gets its own map.
  problem.maps = Mainloop::to_underlying_arguments(
      cute::make_shape(rows, n, k, 1), {x_begin, by_rows, w_begin, by_columns}, nullptr);
  problem.maps.tma_load_b =
      Mainloop::to_underlying_arguments(cute::make_shape(rows, n, experts * k, 1),
                                        {x_begin, by_rows, w_begin, by_columns}, nullptr)
          .tma_load_b;
#endif
  problem.y = static_cast<Element*>(y);
  problem.ends = ends;
  problem.progress = static_cast<Progress*>(workspace);
  problem.experts = experts;
  problem.rows = rows;
  problem.n = n;
  problem.k = k;
  problem.band = raster == 2 ? swizzle : 8 * swizzle;
  if (cudaError_t error = cudaLaunchKernelEx(&launch, multiply, problem))
    return refuse(3, "launch: %s", cudaGetErrorString(error));
  return 0;
}

int grouped_gemm(const void* x, const void* w, void* y, const int* ends, int rows, int experts,
                 int n, int k, void* workspace, std::size_t workspace_bytes, cudaStream_t stream) {
  if (workspace_bytes >= kWorkspaceBytes)
    if (cudaError_t error = cudaMemsetAsync(workspace, 0, kWorkspaceBytes, stream))
      return refuse(2, "clearing the workspace: %s", cudaGetErrorString(error));
  return grouped_gemm_ordered(x, w, y, ends, rows, experts, n, k, RASTER, SWIZZLE, workspace,
                              workspace_bytes, stream);
}

}  // extern "C"
