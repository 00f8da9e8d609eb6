"""Comments and literals of CUDA C++."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegen.lexemes import lexemes
from codegen.plan_text import kernel_names, without_comments

PLAIN = re.compile(
    r"""
      (?P<comment> //[^\n]* | /\*.*?\*/ )
    | (?P<text> R"(?P<mark>[^()\\\s"]{0,16})\(.*?\)(?P=mark)"
              | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' )
    """,
    re.DOTALL | re.VERBOSE,
)
"""The same in quadratic time."""
PIECES = ("/", "*", "/*", "*/", "//", '"', "'", "\\", "\n", 'R"(', ')"', 'R"a(', ')a"', "x")


@settings(max_examples=1000, deadline=None)
@given(source=st.lists(st.sampled_from(PIECES), max_size=16).map("".join))
def test_they_are_those_of_the_plain_expression(source: str) -> None:
    plain = [
        ("comment" if found["comment"] else "text", found.start(), found.end())
        for found in PLAIN.finditer(source)
    ]
    assert [tuple(found) for found in lexemes(source)] == plain


@pytest.mark.parametrize("piece", ["/* ", "/*\n", 'R"(', 'R"a(', '\\"', '"\\', "'\\", "__a__(1)"])
def test_a_source_that_closes_nothing_is_read_in_linear_time(piece: str) -> None:
    begin = time.process_time()
    source = piece * (1_000_000 // len(piece))
    kernel_names(source)
    without_comments(source)
    assert time.process_time() - begin < 10


def test_an_apostrophe_between_digits_opens_nothing() -> None:
    assert without_comments("int n = 1'000; // so\n/* don't */ int m;") == (
        "int n = 1'000;  \n  int m;"
    )
