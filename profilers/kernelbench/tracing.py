"""Which kernels a call runs, with their time, as CUPTI tells PyTorch's profiler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_LONGEST_NAME = 300
_MOST_KERNELS = 2000


def kernels_of(call: Callable[[], Any]) -> list[dict[str, Any]]:
    """Names and microseconds of the kernels that `call` runs on the device, in order of names.

    Copies and fills by the driver are not kernels and are left out.
    """
    import torch

    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        call()
        torch.cuda.synchronize()
    found: dict[str, float] = {}
    for event in profiler.events():
        if str(event.device_type).endswith("CUDA") and not event.name.startswith(
            ("Memcpy", "Mems")
        ):
            name = event.name[:_LONGEST_NAME]
            found[name] = found.get(name, 0.0) + float(event.device_time)
    return [{"name": name, "us": us} for name, us in sorted(found.items())[:_MOST_KERNELS]]
