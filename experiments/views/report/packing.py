"""What a page needs only when somebody looks: packed into compressed blocks, each text once.

A block is the deflated JSON array of some thousand characters of values, in base64, which no
HTML parser can take for anything else. The page unpacks the block of a value when it is opened.
"""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

BLOCK = 300_000
"""Characters of JSON from which on a block is full."""


class Packer:
    """Collects values; equal ones are kept once. `starts` are the numbers the blocks begin with."""

    def __init__(self) -> None:
        self.blocks: list[str] = []
        self.starts: list[int] = []
        self._numbers: dict[str, int] = {}
        self._open: list[str] = []
        self._size = 0

    def add(self, value: Any) -> int:
        """The number under which the page finds `value`, which JSON can hold."""
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self._numbers)
            if not self._open:
                self.starts.append(number)
            self._open.append(text)
            self._size += len(text)
            if self._size >= BLOCK:
                self.close()
        return number

    def close(self) -> None:
        """Finish the block that is open."""
        if self._open:
            packed = zlib.compress(f"[{','.join(self._open)}]".encode(), 6)
            self.blocks.append(base64.b64encode(packed).decode("ascii"))
            self._open, self._size = [], 0
