"""Questions that an author of CuTe kernels has, and the places in CUTLASS that answer them.

An answer is one or more *needs*; a need lists places any of which will do, as ``path#symbol``, or
a path alone where the file as a whole is the answer. Every second question, from the second on, is
held back: it is never looked at while the search is tuned. No question holds the whole name of its
answer, written as one or as words.
"""

from __future__ import annotations

from dataclasses import dataclass

TMA = "include/cute/arch/copy_sm90_tma.hpp"
TMA_DESC = "include/cute/arch/copy_sm90_desc.hpp"
TMA_TRAITS = "include/cute/atom/copy_traits_sm90_tma.hpp"
BARRIER = "include/cutlass/arch/barrier.h"
PIPELINE = "include/cutlass/pipeline/sm90_pipeline.hpp"
CLUSTER = "include/cute/arch/cluster_sm90.hpp"
GMMA = "include/cute/arch/mma_sm90_gmma.hpp"
GMMA_TRAITS = "include/cute/atom/mma_traits_sm90_gmma.hpp"
MMA_ATOM = "include/cute/atom/mma_atom.hpp"
TENSOR = "include/cute/tensor_impl.hpp"
LAYOUT = "include/cute/layout.hpp"
MAINLOOPS = "include/cutlass/gemm/collective"
KERNELS = "include/cutlass/gemm/kernel"
FUSION = "include/cutlass/epilogue/fusion"
UTIL = "tools/util/include/cutlass/util"
TUTORIAL = "examples/cute/tutorial"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """`needs`: all are wanted; of the places within one, any."""

    text: str
    needs: tuple[tuple[str, ...], ...]


def _ask(text: str, *needs: str) -> Question:
    return Question(text=text, needs=tuple(tuple(need.split(" | ")) for need in needs))


QUESTIONS: tuple[Question, ...] = (
    _ask(
        "How do I create the TMA copy on the host that loads a tile from global to shared memory?",
        f"{TMA_TRAITS}#make_tma_copy | {TMA_TRAITS}#make_tma_atom",
    ),
    _ask(
        "Which instruction issues a TMA load that is multicast to several CTAs of a cluster?",
        f"{TMA}#SM90_TMA_LOAD_MULTICAST",
    ),
    _ask(
        "How is the multicast mask computed for the CTAs in one row or column of the cluster?",
        f"{TMA_TRAITS}#create_tma_multicast_mask",
    ),
    _ask(
        "Write a tile from shared memory back to global memory with TMA and wait until it is done",
        f"{TMA}#SM90_TMA_STORE",
        f"{TMA}#tma_store_wait",
    ),
    _ask(
        "Prefetch the tensor map before the main loop starts",
        f"{TMA_DESC}#prefetch_tma_descriptor",
    ),
    _ask(
        "Change the address inside a TMA descriptor on the device, for pointer-array GEMMs",
        f"{TMA_DESC}#tma_descriptor_replace_addr_in_global_mem | "
        f"{TMA_DESC}#tma_descriptor_replace_addr_in_shared_mem",
    ),
    _ask(
        "Partition shared and global tensors of a TMA copy between the CTAs of a cluster",
        f"{TMA_TRAITS}#tma_partition",
    ),
    _ask(
        "A minimal CuTe kernel that uses TMA together with WGMMA",
        f"{TUTORIAL}/hopper/wgmma_tma_sm90.cu",
    ),
    _ask(
        "TMA with im2col mode for implicit GEMM convolution",
        "include/cute/atom/copy_traits_sm90_im2col.hpp#make_im2col_tma_copy",
    ),
    _ask(
        "Bulk asynchronous copy from global to shared memory without a tensor map",
        f"{TMA}#SM90_BULK_COPY_G2S",
    ),
    _ask(
        "Add a tile into global memory atomically with a TMA reduction",
        f"{TMA}#SM90_TMA_REDUCE_ADD",
    ),
    _ask(
        "The mbarrier that waits for a number of transaction bytes",
        f"{BARRIER}#ClusterTransactionBarrier | {BARRIER}#arrive_and_expect_tx",
    ),
    _ask(
        "Multi-stage producer and consumer pipeline for TMA loads",
        f"{PIPELINE}#PipelineTmaAsync",
    ),
    _ask(
        "What is the initial phase of the pipeline state of a producer?",
        f"{PIPELINE}#make_producer_start_state",
    ),
    _ask(
        "Let two consumer warp groups take turns in a fixed order, as in ping-pong",
        f"{PIPELINE}#OrderedSequenceBarrier | "
        f"{KERNELS}/sm90_gemm_tma_warpspecialized_pingpong.hpp#operator()",
    ),
    _ask(
        "Synchronise two warps of a thread block while the others run on",
        f"{BARRIER}#NamedBarrier",
    ),
    _ask(
        "Arrive at and wait for a barrier across the whole cluster",
        f"{CLUSTER}#cluster_arrive_relaxed | {CLUSTER}#cluster_wait | {CLUSTER}#cluster_sync",
    ),
    _ask(
        "Elect one thread of a warp to issue an instruction",
        f"{CLUSTER}#elect_one_sync",
    ),
    _ask(
        "Give registers from the producer warp group to the consumer warp groups",
        "include/cutlass/arch/reg_reconfig.h#warpgroup_reg_alloc | "
        "include/cutlass/arch/reg_reconfig.h#warpgroup_reg_dealloc",
    ),
    _ask(
        "Launch a kernel with a cluster shape from the host",
        "include/cutlass/cluster_launch.hpp#launch_kernel_on_cluster | "
        "include/cutlass/cluster_launch.hpp#ClusterLauncher",
    ),
    _ask(
        "Programmatic dependent launch: wait for the grid before this one",
        "include/cutlass/arch/grid_dependency_control.h#wait_on_dependent_grids",
    ),
    _ask(
        "Pick the WGMMA atom for given element types, tile shape and majorness",
        "include/cute/arch/mma_sm90.hpp#ss_op_selector | "
        "include/cute/arch/mma_sm90.hpp#rs_op_selector",
    ),
    _ask(
        "Fence, commit and wait for asynchronous warpgroup MMA instructions",
        f"{GMMA}#warpgroup_wait | {GMMA}#warpgroup_arrive | {GMMA}#warpgroup_commit_batch",
    ),
    _ask(
        "The bf16 WGMMA of shape 64x128x16 with float accumulators, both operands in shared memory",
        f"{GMMA}#MMA_64x128x16_F32BF16BF16_SS | {GMMA_TRAITS}#SM90_64x128x16_F32BF16BF16_SS",
    ),
    _ask(
        "Build the shared memory matrix descriptor of a WGMMA operand",
        f"{GMMA_TRAITS}#make_gmma_desc | include/cute/arch/mma_sm90_desc.hpp#GmmaDescriptor",
    ),
    _ask(
        "Choose the swizzled shared memory layout atom for a WGMMA operand",
        f"{MAINLOOPS}/builders/sm90_common.inl#ss_smem_selector | "
        f"{GMMA_TRAITS}#Layout_K_SW128_Atom",
    ),
    _ask(
        "How does a WGMMA overwrite instead of accumulate in the first k block?",
        f"{GMMA}#ScaleOut",
    ),
    _ask(
        "Spread an MMA instruction over several warps, so that together they compute a larger tile",
        f"{MMA_ATOM}#make_tiled_mma",
    ),
    _ask(
        "Allocate the register fragment for the accumulators of a tiled MMA",
        f"{MMA_ATOM}#partition_fragment_C",
    ),
    _ask(
        "Promote the partial sums of an fp8 GEMM to full precision every few MMAs",
        f"{MAINLOOPS}/fp8_accumulation.hpp#GmmaFP8Accumulation",
    ),
    _ask(
        "Which bits of an offset are XORed to avoid shared memory bank conflicts?",
        "include/cute/swizzle.hpp#Swizzle",
    ),
    _ask(
        "Repeat a layout atom until it fills a tile shape",
        f"{LAYOUT}#tile_to_shape",
    ),
    _ask(
        "Apply one layout to the indices that another one yields",
        f"{LAYOUT}#composition",
    ),
    _ask(
        "Take the tile of a global tensor that belongs to this CTA",
        f"{TENSOR}#local_tile",
    ),
    _ask(
        "Predicate a copy at the edge of a tensor with a tensor of coordinates",
        f"{TENSOR}#make_identity_tensor | include/cute/int_tuple.hpp#elem_less",
        f"include/cute/algorithm/copy.hpp#copy_if | {TUTORIAL}/tiled_copy_if.cu",
    ),
    _ask(
        "Print a layout or a mapping of threads and values as LaTeX",
        "include/cute/util/print_latex.hpp#print_latex",
    ),
    _ask(
        "Reinterpret the element type of a tensor without copying",
        f"{TENSOR}#recast",
    ),
    _ask(
        "Split a layout into tiles and gather the tiles in the second mode",
        f"{LAYOUT}#zipped_divide",
    ),
    _ask(
        "cp.async of 16 bytes that is cached in L2 only",
        "include/cute/arch/copy_sm80.hpp#SM80_CP_ASYNC_CACHEGLOBAL",
    ),
    _ask(
        "Copy atom with ldmatrix, four 8x8 matrices from shared memory into registers",
        "include/cute/arch/copy_sm75.hpp#SM75_U32x4_LDSM_N",
    ),
    _ask(
        "Which stmatrix operation stores accumulators to shared memory in a Hopper epilogue?",
        "include/cutlass/epilogue/collective/builders/sm90_common.inl"
        "#sm90_get_smem_store_op_for_accumulator | "
        "include/cute/arch/copy_sm90.hpp#SM90_U32x4_STSM_N",
    ),
    _ask(
        "Load operand A from shared memory into registers as the threads of the MMA expect it",
        "include/cute/atom/copy_atom.hpp#make_tiled_copy_A",
    ),
    _ask(
        "Tutorial matrix product for Ampere with a cp.async pipeline",
        f"{TUTORIAL}/sgemm_sm80.cu",
    ),
    _ask(
        "Copy a tensor with all threads of a block together, vectorised",
        "include/cute/algorithm/cooperative_copy.hpp#cooperative_copy",
    ),
    _ask(
        "Choose the number of stages by itself and leave shared memory for the epilogue",
        f"{MAINLOOPS}/collective_builder_decl.hpp#StageCountAutoCarveout | "
        "examples/49_hopper_gemm_with_collective_builder/49_collective_builder.cu",
    ),
    _ask(
        "Kernel schedule tags for warp specialized pingpong and cooperative kernels",
        "include/cutlass/gemm/dispatch_policy.hpp#KernelTmaWarpSpecializedPingpong | "
        "include/cutlass/gemm/dispatch_policy.hpp#KernelTmaWarpSpecializedCooperative",
    ),
    _ask(
        "Hopper main loop whose producer warp loads A and B by TMA for WGMMA from shared memory",
        f"{MAINLOOPS}/sm90_mma_tma_gmma_ss_warpspecialized.hpp#load",
    ),
    _ask(
        "Persistent cooperative warp specialized GEMM kernel on Hopper",
        f"{KERNELS}/sm90_gemm_tma_warpspecialized_cooperative.hpp#operator()",
    ),
    _ask(
        "How does a resident CTA get its next output tile without atomics?",
        f"{KERNELS}/sm90_tile_scheduler.hpp#PersistentTileSchedulerSm90 | "
        f"{KERNELS}/static_tile_scheduler.hpp#StaticPersistentTileScheduler",
    ),
    _ask(
        "Stream-K tile scheduler that splits the K extent between CTAs",
        f"{KERNELS}/sm90_tile_scheduler_stream_k.hpp#PersistentTileSchedulerSm90StreamK",
    ),
    _ask(
        "Grouped GEMM on Hopper with another problem size per expert",
        "examples/57_hopper_grouped_gemm/57_hopper_grouped_gemm.cu",
        "include/cutlass/gemm/group_array_problem_shape.hpp#GroupProblemShape | "
        f"{KERNELS}/sm90_tile_scheduler_group.hpp#PersistentTileSchedulerSm90Group",
    ),
    _ask(
        "Host-side handle that initialises and runs a 3.x GEMM kernel",
        "include/cutlass/gemm/device/gemm_universal_adapter.h#GemmUniversalAdapter",
    ),
    _ask(
        "GEMM with int4 weights and wider activations on Hopper, converting in the main loop",
        "examples/55_hopper_mixed_dtype_gemm/55_hopper_int4_bf16_gemm.cu | "
        "examples/55_hopper_mixed_dtype_gemm/55_hopper_int4_fp8_gemm.cu | "
        f"{MAINLOOPS}/sm90_mma_tma_gmma_rs_warpspecialized_mixed_input.hpp#mma | "
        "include/cutlass/detail/collective/mixed_input_utils.hpp#MixedInputUtils",
    ),
    _ask(
        "FP8 GEMM with blockwise scaling factors on Hopper",
        "examples/67_hopper_fp8_warp_specialized_gemm_with_blockwise_scaling/"
        "67_hopper_fp8_warp_specialized_gemm_with_blockwise_scaling.cu | "
        f"{MAINLOOPS}/sm90_mma_tma_gmma_ss_warpspecialized_fp8_blockwise_scaling.hpp#mma",
    ),
    _ask(
        "Flash attention forward pass for Hopper",
        "examples/88_hopper_fmha/88_hopper_fmha.cu | "
        "examples/88_hopper_fmha/collective/fmha_collective_tma_warpspecialized.hpp"
        "#FmhaMainloopTmaWarpSpecialized",
    ),
    _ask(
        "Gather rows of an operand and scatter the output rows in a Hopper GEMM",
        "examples/52_hopper_gather_scatter_fusion/52_hopper_gather_scatter_fusion.cu",
    ),
    _ask(
        "How many SMs does the device have, for a persistent kernel's arguments",
        "include/cutlass/kernel_hardware_info.h#KernelHardwareInfo | "
        "include/cutlass/kernel_hardware_info.h#query_device_multiprocessor_count",
    ),
    _ask(
        "Raster order of output tiles along M or along N",
        f"{KERNELS}/tile_scheduler_detail.hpp#RasterOrderOptions",
    ),
    _ask(
        "Fusion operation for a bias per row and an activation in the epilogue",
        f"{FUSION}/operations.hpp#LinCombPerRowBiasEltAct",
    ),
    _ask(
        "Node of an epilogue visitor tree that evaluates its children and then itself",
        f"{FUSION}/sm90_visitor_tma_warpspecialized.hpp#Sm90TreeVisitor | "
        f"{FUSION}/sm90_callbacks_tma_warpspecialized.hpp#Sm90EVT",
    ),
    _ask(
        "Broadcast a row vector over the output tile in the epilogue visitor tree",
        f"{FUSION}/sm90_visitor_load_tma_warpspecialized.hpp#Sm90RowBroadcast",
    ),
    _ask(
        "Top-k and softmax fused into the GEMM epilogue",
        f"{FUSION}/sm90_visitor_topk_softmax.hpp#Sm90TopKSoftmaxColReduction | "
        "examples/61_hopper_gemm_with_topk_and_softmax/61_hopper_gemm_with_topk_and_softmax.cu",
    ),
    _ask(
        "Reduce the output over rows or to a scalar while storing in the epilogue visitor tree",
        f"{FUSION}/sm90_visitor_store_tma_warpspecialized.hpp#Sm90RowReduction | "
        f"{FUSION}/sm90_visitor_store_tma_warpspecialized.hpp#Sm90ScalarReduction",
    ),
    _ask(
        "Convert an array of float to bfloat16 or fp8 in registers",
        "include/cutlass/numeric_conversion.h#NumericArrayConverter",
    ),
    _ask(
        "Packed strides of a matrix from its shape, for kernel arguments",
        f"{UTIL}/packed_stride.hpp#make_cute_packed_stride",
    ),
    _ask(
        "Fill device memory with random numbers and compare with a reference on the device",
        f"{UTIL}/reference/device/tensor_fill.h#BlockFillRandomUniform | "
        f"{UTIL}/reference/device/tensor_fill.h#TensorFillRandomUniform",
        f"{UTIL}/reference/device/tensor_compare.h#BlockCompareEqual | "
        f"{UTIL}/reference/device/tensor_compare.h#BlockCompareRelativelyEqual",
    ),
)

TUNED = QUESTIONS[0::2]
HELD_BACK = QUESTIONS[1::2]
