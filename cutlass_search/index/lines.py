"""Lines of a text, and which of them an offset lies on."""

from __future__ import annotations


def count_lines(text: str) -> int:
    """How many lines `text` has."""
    return text.count("\n") + (not text.endswith("\n"))


class Lines:
    """Line numbers of offsets; quick where they are asked for in about their order."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at, self._line = 0, 1

    def at(self, offset: int) -> int:
        """The line, from 1, of the character before `offset` or at it for a line's first."""
        if offset >= self._at:
            self._line += self._text.count("\n", self._at, offset)
        else:
            self._line -= self._text.count("\n", offset, self._at)
        self._at = offset
        return self._line
