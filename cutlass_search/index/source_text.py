"""Text of a source file: line numbers and the words of comments."""

from __future__ import annotations


def count_lines(text: str) -> int:
    """The number of lines of `text`."""
    return text.count("\n") + (not text.endswith("\n"))


class Lines:
    """Line numbers of offsets; fast if the offsets are asked for in about ascending order."""

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


def clean_comment(comments: list[str]) -> str:
    """The words of comments, without slashes, stars and separator lines."""
    lines = []
    for comment in comments:
        for line in comment.splitlines():
            words = line.strip().strip("/*!<").strip().strip("-=/*").strip()
            if words:
                lines.append(words)
    return "\n".join(lines)
