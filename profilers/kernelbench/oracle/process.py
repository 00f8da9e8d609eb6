"""The oracle's process: it holds the problem's model, and no candidate can reach it.

Run as ``python -m profilers.kernelbench.oracle.process --descriptors FD``. It draws inputs under
the judge's seeds, computes what is expected of them, compares what a worker claims, and times the
baseline. Requests are refused with kind "task" if the problem is at fault, and "memory" if the
device has no room.
"""

from __future__ import annotations

import functools
import gc
import sys
from pathlib import Path
from typing import Any

from profilers.children.descriptors import DescriptorSocket
from profilers.children.protocol import RequestRefused
from profilers.children.serving import Handler, serve
from profilers.hardware.driver import CudaError
from profilers.kernelbench.oracle.reference import release_memory
from profilers.kernelbench.oracle.session import OracleSession, SendDescriptors
from profilers.kernelbench.shared.problem import ProblemFault

_OUT_OF_MEMORY = 2  # CUDA_ERROR_OUT_OF_MEMORY


class OracleHandlers:
    """Handlers of the judge's requests. `send` hands over descriptors of shared memory."""

    def __init__(self, send: SendDescriptors) -> None:
        self._send = send
        self._bench: OracleSession | None = None

    def handlers(self) -> dict[str, Handler]:
        """By the names of the operations; faults of the problem become refusals."""
        names = (
            "buffers", "ceilings", "gate", "weights", "draw", "draw_calls", "place", "expect",
            "compare", "prepare", "warm", "run", "burn", "compare_timed", "compiled", "forget",
            "work", "steps",
        )  # fmt: skip
        return {"start": _refusing(self.start)} | {
            name: _refusing(functools.partial(self._pass_on, name)) for name in names
        }

    def start(self, request: dict[str, Any]) -> dict[str, Any]:
        """Execute the problem file, construct its model, run it once to learn its sizes."""
        self._bench = OracleSession(
            Path(request["problem"]),
            device=request["device"],
            policy=request["policy"],
            seed=request["seed"],
            send=self._send,
        )
        gc.collect()
        gc.freeze()  # later collections need not look at objects that stay
        return self._bench.facts

    def _pass_on(self, name: str, request: dict[str, Any]) -> dict[str, Any]:
        if self._bench is None:
            raise RequestRefused("internal", "the oracle was not started", sticky=True)
        handler: Handler = getattr(self._bench, name)
        return handler(request)


def _refusing(handler: Handler) -> Handler:
    """`handler`, with faults of the problem and a lack of memory turned into refusals."""

    def handle(request: dict[str, Any]) -> dict[str, Any]:
        import torch

        try:
            return handler(request)
        except ProblemFault as fault:
            raise RequestRefused("task", str(fault), sticky=fault.sticky) from fault
        except torch.OutOfMemoryError as error:
            release_memory()
            raise RequestRefused("memory", f"the device has no room: {error}") from error
        except CudaError as error:
            if error.code != _OUT_OF_MEMORY:
                raise
            raise RequestRefused("memory", str(error)) from error

    return handle


def main() -> None:
    descriptors = DescriptorSocket.from_arguments()
    if descriptors is None:
        sys.exit("the oracle needs --descriptors FD: shared memory is handed over there")
    serve(OracleHandlers(descriptors.send).handlers())


if __name__ == "__main__":
    main()
