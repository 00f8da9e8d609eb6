"""The judge's side of an oracle, in the same process or in another, on the CPU."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from profilers.kernelbench.oracle.process import OracleHandlers  # noqa: E402
from profilers.kernelbench.shared.shared_memory import BufferWriter, SharedBuffer  # noqa: E402
from profilers.kernelbench.shared.values import TensorSpec, decode, encode  # noqa: E402

SIZE = 1 << 22
TOLERANCE = [1e-4, 1e-4]


class Judge:
    """Asks an oracle in this process, and plays the worker: reads inputs, writes outputs."""

    def __init__(self, problem: Path, *, seed: int = 7, precision: str = "task") -> None:
        self._handed: list[int] = []
        self.oracle = OracleHandlers(lambda fds: self._handed.extend(os.dup(fd) for fd in fds))
        self.handlers = self.oracle.handlers()
        policy = {"precision": precision}
        self.facts = self.ask("start", device="cpu", problem=str(problem), policy=policy, seed=seed)
        self.ask("buffers", inputs=SIZE, outputs=SIZE, in_turns=False)
        self.inputs, self.outputs = (SharedBuffer.attach("host", fd, SIZE) for fd in self._handed)

    def ask(self, op: str, **fields: Any) -> dict[str, Any]:
        return self.handlers[op]({"op": op, **fields})

    def weights(self, seed: int | None = None, **fields: Any) -> dict[str, Any]:
        """The weights as a worker finds them."""
        found = self.ask("weights", seed=seed, **fields)["weights"]
        return {name: self.inputs.fresh(TensorSpec.from_json(spec)) for name, spec in found.items()}

    def draw(self, name: str = "a", *, seed: int = 1, variation: str = "given") -> list[Any]:
        """Inputs as a worker finds them; AssertionError where the variation is not available."""
        at = self.facts["weight_bytes"]
        reply = self.ask("draw", id=name, seed=seed, variation=variation, at=at)
        assert reply["available"] is True, reply["available"]
        values: list[Any] = decode(reply["inputs"], self.inputs.fresh)
        return values

    def compare(self, output: Any, name: str = "a", **fields: Any) -> dict[str, Any]:
        coded = encode(output, BufferWriter(self.outputs))
        return self.ask("compare", id=name, outputs=coded, tolerance=TOLERANCE, k=64, **fields)

    def compared(self, output: Any, name: str = "a") -> dict[str, Any]:
        """The comparison of the only output."""
        (found,) = self.compare(output, name)["outputs"]
        return dict(found)
