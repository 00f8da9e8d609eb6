"""Text that others wrote, made fit for a prompt: cleaned, shortened, and fenced."""

from __future__ import annotations

import re

from mcts.text import one_line, replace_unseen

_TERMINAL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)?|\x1b.?")
_FOLDERS = re.compile(r"(?<![\w.:/])(?:[A-Za-z]:)?/(?:[\w.+@~-]+/)+(?=[\w.+@~-])")


def fence(text: str, language: str = "") -> str:
    """A code block whose fence is longer than any run of backticks within, so that the text
    cannot end it. Cleaned first.
    """
    body = clean(text)
    longest = max(map(len, re.findall(r"`+", body)), default=0) if "`" in body else 0
    mark = "`" * max(3, longest + 1)
    return f"{mark}{language}\n{body.strip(chr(10))}\n{mark}"


def clean(text: str) -> str:
    """`text` with plain line ends and without what a reader would not see: terminal sequences,
    control characters, marks of direction, characters of no width.
    """
    if _is_plain(text):
        return text
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    plain = _TERMINAL.sub("", plain)
    return replace_unseen(plain, lambda _char: "", keep="\n\t")


def _is_plain(text: str) -> bool:
    """Whether all of it is printable ASCII, tabs and line ends: most texts, and told quickly."""
    return text.isascii() and text.replace("\n", "").replace("\t", "").isprintable()


def clean_log(text: str) -> str:
    """A tool's output, cleaned, with the folders of this machine cut from absolute paths."""
    return _FOLDERS.sub("", clean(text))


def inline(text: object, *, longest: int = 200) -> str:
    """One short line that can stand outside of a fence: no backticks, no line ends."""
    return one_line(clean(str(text)).replace("`", "'"), longest)


def shortened(text: str, *, longest: int) -> str:
    """Head and tail of a long text, and how much is missing between them."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]}\n... {len(text) - 2 * half} characters left out ...\n{text[-half:]}"
