"""Lines of a text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from cutlass_search.index.source_text import Lines, count_lines

_TEXT = some.text(alphabet="ab\n", max_size=30)


@given(text=_TEXT, data=some.data())
def test_the_line_is_the_same_in_whatever_order_offsets_are_asked_for(
    text: str, data: some.DataObject
) -> None:
    lines = Lines(text)
    for offset in data.draw(some.lists(some.integers(0, len(text)), max_size=8)):
        assert lines.at(offset) == 1 + text[:offset].count("\n")


def test_a_last_line_without_an_end_counts_and_an_ended_one_does_once() -> None:
    assert [count_lines(text) for text in ("a", "a\n", "a\nb", "a\n\n")] == [1, 1, 2, 2]
