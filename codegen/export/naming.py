"""Names of buffers and shape variables as identifiers of another language."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable

CPP_WORDS = frozenset((
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break",
    "case", "catch", "char", "char16_t", "char32_t", "char8_t", "class", "compl", "concept",
    "const", "const_cast", "consteval", "constexpr", "constinit", "continue", "co_await",
    "co_return", "co_yield", "decltype", "default", "delete", "do", "double", "dynamic_cast",
    "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto",
    "if", "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq",
    "nullptr", "operator", "or", "or_eq", "private", "protected", "public", "register",
    "reinterpret_cast", "requires", "return", "short", "signed", "sizeof", "static",
    "static_assert", "static_cast", "struct", "switch", "template", "this", "thread_local",
    "throw", "true", "try", "typedef", "typeid", "typename", "union", "unsigned", "using",
    "virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq",
))  # fmt: skip


def identifiers(names: Iterable[str], *, taken: Iterable[str] = ()) -> dict[str, str]:
    """An identifier for each name, itself where it can be one; none is a keyword or in `taken`."""
    used = {*taken, *keyword.kwlist, *CPP_WORDS}
    found: dict[str, str] = {}
    for name in names:
        base = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "buffer"
        base = f"_{base}" if base[0].isdigit() else base
        text = name if name.isidentifier() and name.isascii() else base
        while text in used:
            text += "_"
        used.add(text)
        found[name] = text
    return found
