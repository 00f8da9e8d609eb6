"""What a search finds, and what it refuses."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutlass_search import text, tools
from cutlass_search.index.store import Index
from cutlass_search.index.tokens import query_terms, stem, terms
from cutlass_search.search.searching import LONGEST_QUERY, find
from mcts.errors import InputError
from tests.cutlass_search.conftest import MAINLOOP, TMA

SWIZZLE = "include/cute/atom/swizzled_layouts.hpp"
EXAMPLE = "examples/90_tiny_gemm/90_tiny_gemm.cu"


def test_identifiers_are_kept_whole_and_split() -> None:
    assert {"sm90_tma_load", "sm90", "tma", "load"} <= terms("SM90_TMA_LOAD")
    assert {stem("collectivebuilder"), stem("collective"), stem("builder")} <= terms(
        "CollectiveBuilder"
    )
    assert {"64x128x16", "f32", "bf16"} <= terms("MMA_64x128x16_F32BF16BF16_SS")


@pytest.mark.parametrize(
    "words", [("swizzle", "swizzled", "swizzling"), ("scheduler", "schedule", "schedules")]
)
def test_endings_do_not_matter(words: tuple[str, ...]) -> None:
    assert len({stem(word) for word in words}) == 1


def test_words_written_apart_find_what_is_written_as_one() -> None:
    assert "streamk" in {term.word for term in query_terms("stream-K scheduler")}


@pytest.mark.parametrize(
    ("query", "path", "name"),
    [
        ("load a box from global to shared memory", TMA, "cute::SM90_TMA_LOAD"),
        ("SM90_TMA_LOAD_MULTICAST", TMA, "cute::SM90_TMA_LOAD_MULTICAST"),
        ("cute::tma_store_wait", TMA, "cute::tma_store_wait"),
        ("which exclusive or flips the offset", SWIZZLE, "cute::tiny::XorSwizzle"),
        ("B128", SWIZZLE, "cute::tiny::SwizzleMode"),
        ("consumers multiply into accumulators", MAINLOOP,
         "cutlass::gemm::collective::TinyMainloop::mma"),
        ("opposite phase of producers", "media/docs/cpp/pipeline.md", "Phases"),
    ],
)  # fmt: skip
def test_a_question_leads_to_its_place(index: Index, query: str, path: str, name: str) -> None:
    best = find(index, query)[0].best
    assert (best.path, best.name) == (path, name)


def test_a_file_is_one_hit_with_its_best_place_first(index: Index) -> None:
    hits = find(index, "tma load multicast store wait barrier")
    paths = [hit.best.path for hit in hits]
    assert len(paths) == len(set(paths))
    assert hits[0].best.path == TMA
    assert all(place.path == TMA for place in hits[0].besides)


def test_kind_and_path_narrow_a_search(index: Index) -> None:
    assert [hit.best.path for hit in find(index, "mainloop load", kind="example")] == [EXAMPLE]
    assert {hit.best.kind for hit in find(index, "tma load store", kind="function")} == {"function"}
    assert {hit.best.path for hit in find(index, "tma load", path="COLLECTIVE")} == {MAINLOOP}
    assert find(index, "tma", path="nowhere") == []


@pytest.mark.parametrize("query", ["", "   ", "(a+)+$", "the of a", "*", "....", '"'])
def test_a_query_without_words_is_refused(index: Index, query: str) -> None:
    with pytest.raises(InputError, match="name words or identifiers"):
        find(index, query)


def test_a_long_query_is_refused(index: Index) -> None:
    with pytest.raises(InputError, match="at most"):
        find(index, "tma " * LONGEST_QUERY)


def test_an_unknown_kind_is_refused_with_those_that_are_known(index: Index) -> None:
    with pytest.raises(InputError, match="one of struct"):
        find(index, "tma", kind="klass")


@given(query=st.text(max_size=LONGEST_QUERY))
def test_no_query_is_an_expression(index: Index, query: str) -> None:
    try:
        found = find(index, query)
    except InputError:
        return
    assert len(found) <= 10


def test_operators_of_the_index_are_only_words(index: Index) -> None:
    for query in ('NEAR("tma" load)', "tma NOT load", "{names} : tma", "tma AND (", "names:tma*"):
        assert find(index, query)[0].best.path == TMA


def test_hits_are_cited(index: Index) -> None:
    written = text.hits(tools.search(index, "tma load multicast"))
    assert re.match(rf"1\. {re.escape(TMA)}:\d+-\d+  struct cute::SM90_TMA_LOAD", written)
    assert "nothing found" in text.hits(tools.search(index, "zebra"))
