"""The map of concepts: its form, its answers, and that real trees hold its places."""

from __future__ import annotations

import pytest

from cutlass_search import text, tools
from cutlass_search.index.concepts import concept_map, concepts, load_map
from cutlass_search.index.corpus import Corpus
from cutlass_search.index.store import Index
from cutlass_search.index.tokens import query_terms
from mcts.errors import InputError


def test_every_concept_is_found_by_its_name_and_names_a_place() -> None:
    for one in concepts():
        assert one in [found for found, _ in concept_map().mentioned(one.name)]
        assert one.entries
        assert all(entry.symbol and entry.path for entry in one.entries)


def test_a_map_that_was_written_is_read_as_it_was() -> None:
    assert load_map(concept_map().dump()) == concept_map()


def test_names_are_unique_and_a_concept_is_likely_where_its_sentence_is_asked() -> None:
    assert len({one.name for one in concepts()}) == len(concepts())
    for one in concepts():
        likely = concept_map().likely(query_terms(one.says))
        assert one in [found for found, _, _ in likely], one.name
        assert all(0 < share <= 1 for _, _, share in likely)


def test_common_topics_are_in_the_map() -> None:
    for asked in ("TMA load", "WGMMA atom", "swizzle layouts", "epilogue fusion",
                  "pipeline stages", "stream-K", "grouped GEMM"):  # fmt: skip
        assert concept_map().mentioned(asked)


def test_places_that_moved_are_found_by_name_and_missing_ones_are_told(index: Index) -> None:
    found = tools.example_for(index, "how do I write a TMA load?")
    assert found.concept.name == "TMA load"
    assert [one.qualified for one in found.entries] == ["cute::SM90_TMA_LOAD"]
    assert found.examples == ()
    assert "not in this version: include/cute/atom" in text.concept_example(found)


def test_words_that_a_name_holds_are_enough(index: Index) -> None:
    assert "WGMMA" in tools.example_for(index, "WGMMA").concept.name


def test_an_unknown_concept_is_refused_with_the_list(index: Index) -> None:
    with pytest.raises(InputError, match=r"no concept 'zebra'; there are \d+, among them"):
        tools.example_for(index, "zebra")
    with pytest.raises(InputError, match="did you mean"):
        tools.example_for(index, "the multicast thing")


def test_the_real_tree_holds_every_place_of_the_map(cutlass: Corpus, cutlass_index: Index) -> None:
    for one in concepts():
        found = tools.example_for(cutlass_index, one.name)
        assert found.missing == (), f"CUTLASS {cutlass.version}, {one.name}"
        assert [(each.path, each.body) for each in found.entries] == [
            (entry.path, True) for entry in one.entries
        ]
