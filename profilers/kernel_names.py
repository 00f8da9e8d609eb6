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
    angles: list[int] = []  # how much was kept before each bracket `<` outside of all others
    for mark in printed:
        if mark in "(<[{":
            if mark == "<" and not opened:
                angles.append(len(kept))
            opened.append(mark)
        elif mark == ">" and opened:
            if opened[-1] == "<":  # else it is an operator in an expression
                opened.pop()
        elif mark == ">" and angles:
            # An operator had closed a bracket too early, the last one before any comma: its true
            # end is here.
            comma = kept.index(",") if "," in kept else len(kept)
            del kept[max((place for place in angles if place <= comma), default=comma) :]
        elif mark in _CLOSERS:
            if _CLOSERS[mark] in opened:
                while opened.pop() != _CLOSERS[mark]:
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
