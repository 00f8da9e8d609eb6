"""Listings of machine code, written as the disassembler prints them."""

from __future__ import annotations


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
