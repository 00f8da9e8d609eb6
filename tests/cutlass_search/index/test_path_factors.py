"""How a path changes the rank of a file."""

from __future__ import annotations

import pytest

from cutlass_search.index.path_factors import path_factors, path_traits
from cutlass_search.index.tokens import query_terms

MAINLOOP = "include/cutlass/gemm/collective/sm90_mma_tma_gmma_ss_warpspecialized.hpp"
SPARSE = "include/cutlass/gemm/collective/sm90_sparse_mma_tma_gmma_ss_warpspecialized.hpp"
BLACKWELL = "include/cutlass/gemm/collective/sm100_mma_warpspecialized.hpp"
OLD = "include/cutlass/gemm/threadblock/mma_multistage.h"
EXAMPLE = "examples/48_hopper_warp_specialized_gemm/48_hopper_warp_specialized_gemm.cu"
VOCABULARY = "include/cute/layout.hpp"


def _worth(question: str, *paths: str) -> list[float]:
    return path_factors(question, query_terms(question), map(path_traits, paths))


@pytest.mark.parametrize(
    ("question", "first", "second"),
    [
        ("main loop", MAINLOOP, SPARSE),
        ("main loop", MAINLOOP, BLACKWELL),
        ("main loop on Blackwell", BLACKWELL, MAINLOOP),
        ("main loop", MAINLOOP, OLD),
        ("warp specialized product", MAINLOOP, EXAMPLE),
        ("an example of a warp specialized product", EXAMPLE, MAINLOOP),
        ("shapes and strides", VOCABULARY, MAINLOOP),
    ],
)
def test_files_of_the_kind_asked_for_rank_first(question: str, first: str, second: str) -> None:
    ahead, behind = _worth(question, first, second)
    assert ahead > behind > 0


def test_a_variant_that_is_named_is_as_good_as_the_plain_file() -> None:
    plain, variant = _worth("main loop with structured sparsity", MAINLOOP, SPARSE)
    assert plain == variant
