"""A command on a terminal of its own, and what a person would see there."""

from __future__ import annotations

import codecs
import fcntl
import os
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 60
HOME, _CLEAN = "\x1b[H", re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


class Terminal:
    """`rooftree` with these words, or another module; a frame is what was drawn from one home to
    the next.
    """

    def __init__(
        self,
        *words: object,
        cols: int,
        rows: int,
        module: str = "experiments",
        environment: Mapping[str, str] = os.environ,
        folder: Path | None = None,
    ) -> None:
        self._master, side = os.openpty()
        self.resize(cols, rows)
        kept = {k: v for k, v in environment.items() if k not in ("COLUMNS", "LINES", "NO_COLOR")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, *map(str, words)],
            cwd=folder, stdin=side, stdout=side, stderr=side, start_new_session=True,
            env={**kept, "PYTHONPATH": kept.get("PYTHONPATH", str(ROOT)), "TERM": "xterm-256color"},
        )  # fmt: skip
        os.close(side)
        self.text, self._decoder = "", codecs.getincrementaldecoder("utf-8")()

    def resize(self, cols: int, rows: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def read_until(self, pattern: str) -> list[str]:
        """Read on until a whole frame matches; its lines."""
        start = len(self.text)
        for _ in self._chunks():
            for frame in self.text[start:].split(HOME)[1:-1]:
                plain = _CLEAN.sub("", frame)
                if re.search(pattern, plain):
                    return plain.rstrip("\n").split("\n")
        raise AssertionError(f"never saw {pattern!r} in {self.text[start:][-3000:]!r}")

    def read_past(self, words: str) -> None:
        """Read on until `words` were written anywhere."""
        chunks = self._chunks()
        while words not in self.text:
            next(chunks)

    def finish(self) -> tuple[int, str]:
        """Read to the end; the exit code and what stands on the first screen."""
        for _ in self._chunks():
            pass
        code = self.process.wait(PATIENCE_S)
        first = re.sub(r"\x1b\[\?1049h.*?\x1b\[\?1049l", "", self.text, flags=re.DOTALL)
        return code, _CLEAN.sub("", first)

    def _chunks(self) -> Iterator[None]:
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            ready, _, _ = select.select([self._master], [], [], 1.0)
            if not ready:
                continue
            try:
                data = os.read(self._master, 1 << 16)
            except OSError:  # the other side is closed
                data = b""
            if not data:
                return
            self.text += self._decoder.decode(data)
            yield
        raise AssertionError(f"no end within {PATIENCE_S} s: {self.text[-3000:]!r}")

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._master)
