"""Text of candidates, compilers and models in the report: all of it visible, none of it acting."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.views.report.packing import Packer
from experiments.views.report.page import inert_json
from experiments.views.report.text import cleaned, line, shown, visible


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("\x1b[31mred\x1b[0m", "⟨ESC⟩[31mred⟨ESC⟩[0m"),
        ("a\x00b", "a⟨NUL⟩b"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("dos\r\nends, and a lone\rreturn", "dos\nends, and a lone⟨CR⟩return"),
        ("if (x)\u202e } \u2066", "if (x)⟨U+202E⟩ } ⟨U+2066⟩"),
        ("\u2028\u2029\ufeff\u200b", "⟨U+2028⟩⟨U+2029⟩⟨U+FEFF⟩⟨U+200B⟩"),
        ("\x7f\x9b31m\x01", "⟨DEL⟩⟨9B⟩31m⟨01⟩"),
        ("half \ud83d", "half \ufffd"),
        ("naïve 한국어 שלום", "naïve 한국어 שלום"),
    ],
)
def test_control_characters_are_made_visible(text: str, seen: str) -> None:
    assert visible(text) == seen


@given(st.text(st.characters(exclude_categories=())))
def test_visible_text_has_no_control_characters(text: str) -> None:
    seen = visible(text)
    seen.encode("utf-8")
    assert not any(ord(sign) < 32 and sign not in "\t\n" for sign in seen)
    assert visible(seen) == seen


def test_megabytes_are_cut_with_a_note() -> None:
    text = shown("x" * 3_000_000, 1000)
    assert text.endswith("\n[cut here: 2,999,000 more characters not shown]") and len(text) < 1100
    assert shown("x" * 1000, 1000) == "x" * 1000


def test_a_line_is_one_line() -> None:
    assert line("a\n\tb  c") == "a b c"
    assert line("word " * 100, 20) == "word word word word…"


def test_nested_values_are_cleaned() -> None:
    found = cleaned({"a\x00": ["\x1b", 1 / 3, math.inf, None, True, 7]})
    assert found == {"a⟨NUL⟩": ["⟨ESC⟩", 0.333333, None, None, True, 7]}


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_no_text_ends_the_element_that_holds_the_data(text: str) -> None:
    written = inert_json({"text": f"</script><!--{text}]]>&lt;\u2028"})
    assert not any(sign in written for sign in "<>&\u2028\u2029")
    assert json.loads(written)["text"].startswith("</script><!--")


def test_equal_values_are_packed_once_and_found_by_number() -> None:
    packer = Packer()
    numbers = [packer.add(value) for value in ("a" * 200_000, "b" * 200_000, "a" * 200_000, [1])]
    packer.close()
    assert numbers == [0, 1, 0, 2]
    assert packer.starts == [0, 2] and len(packer.blocks) == 2
