"""The judge's side of a worker in the same process, on the CPU: buffers, inputs, requests."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from profilers.kernelbench.shared.shared_memory import BufferWriter, SharedBuffer  # noqa: E402
from profilers.kernelbench.shared.values import decode, encode  # noqa: E402
from profilers.kernelbench.worker.process import WorkerHandlers  # noqa: E402

SIZE = 1 << 20
LATE = SIZE // 2
WEIGHTS_AT = SIZE // 2
PLAIN: dict[str, Any] = {"init": {"list": []}, "weights": {}}
"""What a model without arguments and weights is loaded with."""


class Judge:
    """The other side: owns the buffers, draws inputs, reads outputs."""

    def __init__(self, folder: Path, **start: Any) -> None:
        self.folder = folder
        self.inputs, self.outputs = (
            SharedBuffer.create("host", SIZE),
            SharedBuffer.create("host", SIZE),
        )
        self.worker = WorkerHandlers(
            lambda count: [os.dup(self.inputs.fd), os.dup(self.outputs.fd)]
        )
        self.handlers = self.worker.handlers()
        self.ask("start", device="cpu", inputs=SIZE, outputs=SIZE, **start)
        self.model = torch.nn.Linear(8, 8)

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, *_: object) -> None:
        self.inputs.close()
        self.outputs.close()

    def ask(self, op: str, **fields: Any) -> dict[str, Any]:
        return self.handlers[op]({"op": op, **fields})

    def weights(self, model: Any) -> dict[str, Any]:
        writer = BufferWriter(self.inputs, WEIGHTS_AT)
        state = {**dict(model.named_parameters()), **dict(model.named_buffers())}
        return {f"linear.{name}": writer(t.detach()).to_json() for name, t in state.items()}

    def load(self, source: str, **changes: Any) -> dict[str, Any]:
        path = self.folder / "candidate.py"
        path.write_text(textwrap.dedent(source), encoding="utf-8")
        fields = {"init": {"list": [8, 2.0]}, "weights": self.weights(self.model)}
        name = f"candidate_{id(self)}_{os.urandom(4).hex()}"
        return self.ask("load", path=str(path), seed=1, module=name, **{**fields, **changes})

    def draw(self, calls: int = 1) -> tuple[list[Any], list[Any]]:
        """Inputs, and the same coded."""
        writer = BufferWriter(self.inputs)
        values = [[torch.randn(4, 8)] for _ in range(calls)]
        return values, [encode(value, writer) for value in values]

    def call(self, **fields: Any) -> tuple[Any, dict[str, Any]]:
        """The inputs of a call and its answer."""
        values, coded = self.draw()
        return values[0], self.ask("call", inputs=coded[0], at=0, late_at=LATE, **fields)

    def timed(self, calls: int) -> tuple[list[Any], list[float], dict[str, Any]]:
        values, coded = self.draw(calls)
        self.ask("prepare", calls=coded)
        times = self.ask("run", flush=True, repeats=1)["events_us"]
        return values, times, self.ask("fetch", at=0)

    def read(self, coded: Any) -> Any:
        return decode(coded, self.outputs.fresh)


def forward(body: str, extra: str = "") -> str:
    """A candidate with that body of `forward` and no weights."""
    return (
        "import torch\n"
        + textwrap.dedent(extra)
        + "\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n"
        + textwrap.indent(textwrap.dedent(body).strip(), "        ")
        + "\n"
    )


def cheats(reply: dict[str, Any]) -> set[str]:
    return {item["cheat"] for item in reply["problems"]}
