"""Reads a report back: its data, the packed values behind it, and what is seen without scripts."""

from __future__ import annotations

import base64
import bisect
import json
import re
import zlib
from typing import Any

_DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)
_BLOCK = re.compile(r'<script type="application/octet-stream" id="block-(\d+)">(.*?)</script>')
_INERT = re.compile(r"<(script|style)\b.*?</\1>", re.DOTALL)


class ReportPage:
    """A report's HTML. `data` is its JSON, `seen` what a reader without JavaScript gets."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.seen = _INERT.sub("", text)
        found = _DATA.search(text)
        assert found is not None, "the page has no data"
        self.data: dict[str, Any] = json.loads(found[1])
        packed = {int(number): block for number, block in _BLOCK.findall(text)}
        self._blocks = [
            json.loads(zlib.decompress(base64.b64decode(packed[number])))
            for number in sorted(packed)
        ]

    def value(self, number: int) -> Any:
        """A packed value by its number."""
        block = bisect.bisect_right(self.data["blocks"], number) - 1
        return self._blocks[block][number - self.data["blocks"][block]]

    def detail(self, node: int) -> dict[str, Any]:
        """What the page of a node shows."""
        nodes = self.data["nodes"]
        found: dict[str, Any] = self.value(nodes["detail"][nodes["id"].index(node)])
        return found

    def source(self, node: int) -> str:
        text: str = self.value(self.detail(node)["source"])
        return text
