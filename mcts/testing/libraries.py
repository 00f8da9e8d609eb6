"""What every Library must do. Subclass, say what it is and what it knows, and run pytest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from mcts.errors import InputError
from mcts.library import Library

STRANGE: tuple[Mapping[str, Any], ...] = (
    {},
    {"nothing": "x"},
    {"query": None},
    {"query": ["a"], "path": {}, "symbol": 1.5},
    {"query": "x" * 100_000, "path": "../" * 1000, "symbol": "(" * 5000},
    {"query": "\ud800", "path": "a\0b", "symbol": "\ud800", "concept": "\x1b[31m"},
)


class LibraryContract:
    """Override `library`, and `known`: tools with arguments that bring something."""

    @pytest.fixture
    def library(self) -> Library:
        raise NotImplementedError("override the fixture library of LibraryContract")

    @pytest.fixture
    def known(self) -> list[tuple[str, Mapping[str, Any]]]:
        raise NotImplementedError("override the fixture known of LibraryContract")

    def test_it_is_a_library_with_a_name_and_tools(self, library: Library) -> None:
        assert isinstance(library, Library) and library.name
        assert len({tool.name for tool in library.tools}) == len(library.tools) > 0
        for tool in library.tools:
            schema = json.loads(json.dumps(dict(tool.parameters)))
            assert schema["type"] == "object" and tool.says
            assert set(schema["required"]) <= set(schema["properties"])

    def test_the_same_arguments_bring_the_same_text(
        self, library: Library, known: list[tuple[str, Mapping[str, Any]]]
    ) -> None:
        for tool, arguments in known:
            first = library.call(tool, arguments)
            assert first and library.call(tool, arguments) == first
            assert len(first) <= 50_000

    def test_side_by_side_it_answers_alike(
        self, library: Library, known: list[tuple[str, Mapping[str, Any]]]
    ) -> None:
        alone = [library.call(*each) for each in known]
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(lambda each: library.call(*each), known * 8)) == alone * 8

    def test_whatever_a_model_gives_is_answered_or_refused_in_one_line(
        self, library: Library
    ) -> None:
        for tool in [*(tool.name for tool in library.tools), "", "no such tool", "read\nme"]:
            for arguments in STRANGE:
                try:
                    library.call(tool, arguments)
                except InputError as refusal:
                    assert "\n" not in str(refusal) and len(str(refusal)) < 2000

    def test_it_can_be_closed_twice(self, library: Library) -> None:
        library.close()
        library.close()
