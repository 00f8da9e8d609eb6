"""Kernel names: ncu prints them with types, nsys mangled, a launch plan bare."""

from __future__ import annotations

import re

_CLOSERS = {")": "(", "]": "[", "}": "{"}


def bare_name(printed: str) -> str:
    """A kernel's name as a launch plan spells it, whichever tool printed it.

    `void ns::copy<float>(const float *)` and `_Z4copyIfEvPKT_` are `copy`.
    """
    if printed.startswith("_Z"):
        return _mangled_name(printed) or printed
    kept: list[str] = []
    opened: list[str] = []
    for mark in printed:
        if mark in "(<[{":
            opened.append(mark)
        elif mark == ">" and opened:
            if opened[-1] == "<":  # else it is an operator in an expression
                opened.pop()
        elif mark in _CLOSERS:
            while opened and opened.pop() != _CLOSERS[mark]:
                pass
        elif not opened:
            kept.append(mark)
    words = "".join(kept).split()
    return (words[-1].rpartition("::")[2] if words else "") or printed.strip()


def _mangled_name(name: str) -> str:
    """The last identifier of a mangled (Itanium ABI) name before its template arguments."""
    found, at = "", 3 if name.startswith("_ZN") else 2
    while length := re.compile(r"L?(\d+)").match(name, at):
        at = length.end() + int(length[1])
        found = name[length.end() : at]
        if not name.startswith("_ZN"):
            break
    return found
