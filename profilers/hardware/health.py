"""Checks that the GPU still works, in a process that no candidate has touched.

Run as ``python -m profilers.hardware.health --device N``. When a worker dies, or faults in a way
that a failing board also shows, the result decides whether the candidate or the GPU is to blame.
"""

from __future__ import annotations

import argparse
import ctypes
from pathlib import Path
from typing import Any

from mcts.errors import WorldError
from profilers.children.processes import Child, ChildGone
from profilers.children.serving import serve

_TIMEOUT_S = 60.0
_WORD = 0x5A5A5A5A


def check_gpu(device: int, support: Path, *, cwd: Path) -> str | None:
    """Run a tiny kernel in a fresh process; None if that works, or else why not."""
    try:
        child = Child.module(
            "profilers.hardware.health", cwd=cwd, arguments=["--device", str(device)]
        )
    except WorldError as error:
        return str(error)
    try:
        reply = child.request({"op": "check", "support": str(support)}, timeout_s=_TIMEOUT_S)
    except ChildGone as gone:
        return f"{gone} {gone.output[-300:]}".strip()
    finally:
        child.kill()
    return None if reply["ok"] else str(reply["message"])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", type=int, default=0)
    options, _ = parser.parse_known_args()
    serve({"check": lambda request: _check_device(options.device, Path(request["support"]))})


def _check_device(device: int, support: Path) -> dict[str, Any]:
    from profilers.hardware import driver

    context = driver.Context(device)
    function = driver.Module(support.read_bytes()).function("rooftree_seal")
    if function is None:
        raise WorldError(f"{support} has no rooftree_seal")
    pointer = context.alloc(8)
    context.fill_bytes(pointer, 0, 8)
    key = [ctypes.c_uint64(_WORD), ctypes.c_uint64(1)]
    values = [ctypes.c_uint64(pointer), ctypes.c_uint64(8), *key]
    for times in (1, 2):
        driver.PreparedLaunch(function, grid=(1, 1, 1), block=(32, 1, 1), arguments=values).enqueue(
            context.stream
        )
        if (context.download(pointer, 8) == bytes(8)) != (times == 2):
            raise WorldError("a kernel on the GPU did not do what it says")
    return {}


if __name__ == "__main__":
    main()
