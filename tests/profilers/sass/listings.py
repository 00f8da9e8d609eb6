"""Listings of machine code, written as the disassembler prints them."""

from __future__ import annotations

import io

from mcts.domain import SassFacts
from profilers.sass import parse_lines
from profilers.sass.listing import LONGEST_LINE


def parse_sass(text: str) -> dict[str, SassFacts]:
    """`parse_lines` of a text, in pieces as the tools' output is read."""
    stream = io.StringIO(text)
    return parse_lines(iter(lambda: stream.readline(LONGEST_LINE), ""))


def listing(*code: str, lines: tuple[int, ...] = ()) -> str:
    """A kernel `k` of `code`; what ends in a colon is a label.

    `lines` are the source lines of the instructions, none where it is empty.
    """
    text, address = [".text.k:"], 0
    for at, one in enumerate(code):
        if lines:
            text.append(f'//## File "/k.cu", line {lines[at]}')
        if one.endswith(":"):
            text.append(one)
        else:
            text.append(f"        /*{address:04x}*/                   {one} ;")
            address += 16
    return "\n".join(text) + "\n"
