"""What calls run on the device, and when, from PyTorch's profiler (CUPTI).

This is the candidate's own process, so the result is a claim.
"""

from __future__ import annotations

import contextlib
import json
import math
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

_LONGEST_NAME = 300
_MOST_KERNELS = 2000
_MOST_EVENTS = 20_000
_CATEGORIES = {
    "kernel": "kernel",
    "gpu_memcpy": "copy",
    "gpu_memset": "memset",
    "cuda_runtime": "api",
    "cuda_driver": "api",
}


def kernels_of(call: Callable[[], Any]) -> list[dict[str, Any]]:
    """Names and microseconds of the kernels that `call` runs on the device, in order of names.

    Copies and fills by the driver are not kernels and are left out.
    """
    with _profiled() as profiler:
        call()
    found: dict[str, float] = {}
    for event in profiler.events():
        if str(event.device_type).endswith("CUDA") and not event.name.startswith(
            ("Memcpy", "Mems")
        ):
            name = event.name[:_LONGEST_NAME]
            found[name] = found.get(name, 0.0) + float(event.device_time)
    return [{"name": name, "us": us} for name, us in sorted(found.items())[:_MOST_KERNELS]]


def events_of(call: Callable[[], Any]) -> dict[str, Any]:
    """Each operation of the device and each call of CUDA's API while `call` runs.

    Events are lists: kind ("kernel", "copy", "memset", "api"), place of its name in `names`, start
    and end in nanoseconds, stream or thread, correlation, bytes, blocks, threads of a block.
    `left_out` counts the events beyond the limit.
    """
    with _profiled() as profiler:
        call()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        told = json.loads(path.read_text(encoding="utf-8", errors="replace"))
    return compact_trace(told)


def compact_trace(trace: Mapping[str, Any]) -> dict[str, Any]:
    """The relevant events of a trace in Chrome's format, as PyTorch writes it."""
    kept = [item for item in trace["traceEvents"] if item.get("cat") in _CATEGORIES]
    kept.sort(key=lambda item: float(item["ts"]))
    names: dict[str, int] = {}
    events = []
    for item in kept[:_MOST_EVENTS]:
        about = item.get("args", {})
        name = names.setdefault(str(item["name"])[:_LONGEST_NAME], len(names))
        start = float(item["ts"])
        events.append(
            [
                _CATEGORIES[item["cat"]],
                name,
                round(1e3 * start),
                round(1e3 * (start + float(item.get("dur", 0)))),
                int(about.get("stream", item.get("tid", 0))),
                int(about.get("correlation", 0)),
                int(about.get("bytes", 0)),
                math.prod(about.get("grid", ())),
                math.prod(about.get("block", ())),
            ]
        )
    return {"names": list(names), "events": events, "left_out": max(0, len(kept) - _MOST_EVENTS)}


@contextlib.contextmanager
def _profiled() -> Iterator[Any]:
    import torch

    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        yield profiler
        torch.cuda.synchronize()
