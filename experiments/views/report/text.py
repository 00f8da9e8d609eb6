"""Text that a candidate, a compiler or a model wrote, made fit to be shown: as text, all of it
visible, and of bounded length.
"""

from __future__ import annotations

import math
from typing import Any

from mcts.text import one_line

SOURCE_LIMIT = 200_000
LOG_LIMIT = 20_000
MESSAGE_LIMIT = 60_000
"""Characters of a source, of a log or reason, and of one message to or from a model."""

_NAMES = {0: "NUL", 7: "BEL", 8: "BS", 11: "VT", 12: "FF", 13: "CR", 27: "ESC", 127: "DEL"}
_BIDI = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_UNSEEN = (0x200B, 0x2028, 0x2029, 0x2060, 0xFEFF)


def _table() -> dict[int, str]:
    controls = [code for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n"]
    table = {code: f"⟨{_NAMES.get(code, f'{code:02X}')}⟩" for code in controls}
    table |= {code: f"⟨U+{code:04X}⟩" for code in (*_BIDI, *_UNSEEN)}
    return table | dict.fromkeys(range(0xD800, 0xE000), "\ufffd")


_VISIBLE = _table()


def visible(text: str) -> str:
    """`text` with everything that acts instead of showing replaced by what shows.

    Control characters, and with them terminal codes, become their names (``⟨ESC⟩[31m``), marks
    that turn the direction of writing and line separators their code points, halves of surrogate
    pairs the replacement character. Line ends become ``\\n``.
    """
    if text.isprintable():  # as most short texts are
        return text
    return text.replace("\r\n", "\n").translate(_VISIBLE)


def shown(text: str, limit: int) -> str:
    """`text` made visible, cut after `limit` characters with a note that says so."""
    if len(text) <= limit:
        return visible(text)
    return f"{visible(text[:limit])}\n[cut here: {len(text) - limit:,} more characters not shown]"


def line(text: str, limit: int = 160) -> str:
    """`text` on one line of at most `limit` characters."""
    return one_line(visible(text[: 4 * limit]), limit, mark="…")


def cleaned(value: Any, limit: int = LOG_LIMIT) -> Any:
    """A JSON value with every text in it shown, and numbers to six digits."""
    match value:
        case str():
            return shown(value, limit)
        case float():
            return float(f"{value:.6g}") if math.isfinite(value) else None
        case dict():
            return {line(str(key)): cleaned(inner, limit) for key, inner in value.items()}
        case list() | tuple():
            return [cleaned(inner, limit) for inner in value]
        case _:
            return value
