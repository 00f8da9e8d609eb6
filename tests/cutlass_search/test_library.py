"""The look-ups as a model gets them: schemas, and a refusal for whatever is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from cutlass_search.index.corpus import open_corpus
from cutlass_search.index.store import open_index
from cutlass_search.library import MOST_CHARACTERS, CutlassLibrary
from cutlass_search.tools import search
from mcts.errors import InputError, WorldError
from mcts.library import Library
from mcts.testing.libraries import LibraryContract
from tests.cutlass_search.conftest import TMA


@pytest.fixture
def library(tree: Path, tmp_path: Path) -> Iterator[CutlassLibrary]:
    (tree.parent / "outside.h").write_text("int secret;")
    (tree / "include/link.h").symlink_to(tree.parent / "outside.h")
    (tree / "include/long.h").write_text("int some_name_or_other = 1;\n" * 2_000)
    opened = CutlassLibrary(open_index(open_corpus(tree), folder=tmp_path / "index"))
    yield opened
    opened.close()


class TestContract(LibraryContract):
    @pytest.fixture
    def library(self, library: CutlassLibrary) -> Library:
        return library

    @pytest.fixture
    def known(self) -> list[tuple[str, Mapping[str, Any]]]:
        return [
            ("search", {"query": "TMA load", "kind": "struct"}),
            ("read", {"path": TMA, "lines": "20-30"}),
            ("definition", {"symbol": "SM90_TMA_LOAD"}),
            ("uses", {"symbol": "SM90_TMA_LOAD"}),
            ("example_for", {"concept": "TMA load"}),
        ]


def test_answers_are_cited_by_path_and_line(library: CutlassLibrary) -> None:
    assert f"{TMA}:22-35" in library.call("definition", {"symbol": "SM90_TMA_LOAD"})
    assert library.call("read", {"path": TMA, "lines": 22}).startswith(f"{TMA}:22-")
    assert library.name.startswith("CUTLASS ")


def test_a_header_may_be_named_as_it_is_included(library: CutlassLibrary) -> None:
    found = library.call("read", {"path": "cute/arch/copy_sm90_tma.hpp", "lines": "22-24"})
    assert found.startswith(f"{TMA}:22-24 of ")
    for path in ("link.h", "../include/link.h", "../../outside.h", "nothing.h"):
        with pytest.raises(InputError, match=r"outside of the CUTLASS tree|there is no file"):
            library.call("read", {"path": path})


def test_a_long_reading_says_where_to_go_on(library: CutlassLibrary) -> None:
    found = library.call("read", {"path": "include/long.h", "lines": "100-500"})
    assert len(found) < MOST_CHARACTERS + 200
    last = int(found.splitlines()[-2].split()[0])
    assert found.splitlines()[0] == f"include/long.h:100-{last} of 2000 lines"
    assert found.endswith(f"... cut here: go on with lines {last + 1}-")


@pytest.mark.parametrize(
    ("tool", "arguments", "why"),
    [
        ("read", {"path": "../outside.h"}, "outside of the CUTLASS tree"),
        ("read", {"path": TMA, "lines": "9-1"}, "count from 1"),
        ("read", {"path": TMA, "lines": [1, 2]}, "lines is a text, not list"),
        ("read", {"lines": "1-2"}, "read needs path"),
        ("search", {"query": "(a+)+$"}, "looks like a regular expression"),
        ("search", {"query": "x" * 5000}, "at most 400 characters"),
        ("search", {"query": "tma", "path": "(.*)*\\.hpp"}, "looks like a regular expression"),
        ("search", {"query": "tma", "kind": "poem"}, "one of"),
        ("search", {"query": "tma", "limit": "9"}, "no argument 'limit', only query, kind, path"),
        ("search", {"query": "  "}, "search needs query"),
        ("definition", {"symbol": "(x+x+)+y"}, "is no C++ name"),
        ("frobnicate", {}, "no tool 'frobnicate': search, read"),
    ],
    ids=str,
)
def test_wrong_arguments_are_refused_in_one_line(
    library: CutlassLibrary, tool: str, arguments: dict[str, Any], why: str
) -> None:
    with pytest.raises(InputError) as refusal:
        library.call(tool, arguments)
    assert why in str(refusal.value) and "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "query",
    ["(.*)*x", r"(\w+\s?)*end", "^(([a-z])+.)+[A-Z]([a-z])+$", "([a-zA-Z]+)*$", "(a|aa)+$",
     r"make_\w+_copy", "tma.*load"],
)  # fmt: skip
def test_a_regular_expression_is_told_from_a_question(library: CutlassLibrary, query: str) -> None:
    with pytest.raises(InputError, match="regular expression"):
        library.call("search", {"query": query})


@pytest.mark.parametrize(
    "query",
    ["Layout<Shape<_64,_64>, Stride<_1,_64>>", "D = A * (B + C)", "operator()(int i)",
     "template<class... Args>", "smem[i][j-1]", "what is C++? why (TMA)?", "float* p", "(M,K) + x"],
)  # fmt: skip
def test_code_in_a_question_is_no_regular_expression(library: CutlassLibrary, query: str) -> None:
    search(library._index, query)


def test_a_closed_index_is_a_broken_world(library: CutlassLibrary) -> None:
    library.close()
    with pytest.raises(WorldError, match="cannot be read"):
        library.call("definition", {"symbol": "SM90_TMA_LOAD"})
