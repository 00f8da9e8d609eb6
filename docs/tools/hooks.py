"""What mkdocs cannot do by itself: lists from the program, and copying commands alone."""

from __future__ import annotations

import html
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from docs.tools import commands, microtools, searches

LISTS: Mapping[str, Callable[[], str]] = {
    "<!-- commands -->": commands.reference,
    "<!-- micro-tools -->": microtools.markdown,
    "<!-- searches -->": searches.markdown,
}
_BLOCK = re.compile(r'<div class="([^"]*\bhighlight)">(?=<pre>)(.*?)</pre></div>', re.DOTALL)
_TAG = re.compile(r"<[^>]+>")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """What a page marks is listed there: commands, micro-tools or searches."""
    for marker, listed in LISTS.items():
        if marker in markdown:
            markdown = markdown.replace(marker, listed())
    return markdown


def on_page_content(content: str, **_: Any) -> str:
    """The button at a block of a console copies its commands, without prompts and output."""
    return _BLOCK.sub(_copying_commands, content)


def _copying_commands(match: re.Match[str]) -> str:
    if '<span class="gp">' not in match[2]:
        return match[0]
    commands, going_on = [], False
    for line in html.unescape(_TAG.sub("", match[2])).splitlines():
        if line.startswith("$ ") or going_on:
            commands.append(line.removeprefix("$ "))
            going_on = line.endswith("\\")
    text = html.escape("\n".join(commands)).replace("\n", "&#10;")
    return match[0].replace("<div ", f'<div data-copy="{text}" ', 1)
