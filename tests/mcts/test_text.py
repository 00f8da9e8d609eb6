"""Texts of others made fit to show."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcts.text import cut, first_line


@pytest.mark.parametrize(
    ("text", "most", "said"),
    [
        ("as it is", 8, "as it is"),
        ("the loads are coalesced", 20, "the loads are..."),
        ("the loads are coalesced", 22, "the loads are..."),
        ("the loads are coalesced", 16, "the loads are..."),
        ("/a/path/without/any/blank/in/it", 12, "/a/path/w..."),
        ("short " + "x" * 60, 40, "short " + "x" * 31 + "..."),
    ],
)
def test_a_text_is_cut_between_words_if_a_blank_is_near(text: str, most: int, said: str) -> None:
    assert cut(text, most) == said


@given(st.text(max_size=80), st.integers(3, 90))
def test_a_cut_text_fits_and_says_that_it_was_cut(text: str, most: int) -> None:
    found = cut(text, most)
    assert len(found) <= most
    assert found == text if len(text) <= most else found.endswith("...")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (RuntimeError("out of memory\nTried to allocate"), "out of memory"),
        (RuntimeError("\n  late  \n"), "late"),
        (RuntimeError(), "RuntimeError"),
        (ValueError("  \n"), "ValueError"),
    ],
)
def test_an_error_that_says_nothing_is_told_by_its_name(error: Exception, said: str) -> None:
    assert first_line(error) == said
