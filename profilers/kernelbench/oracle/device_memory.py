"""The oracle's share of the device's memory: what it may take, what it holds, what lies idle.

A candidate's process shares the device, so that memory that lies idle is given back.
"""

from __future__ import annotations

_SHARE = 0.85
_IDLE_LIMIT = 2**30


class DeviceMemory:
    """What PyTorch has of `device`, an ordinal or "cpu"; of the host's memory nobody can tell."""

    def __init__(self, device: int | str) -> None:
        self._on_host = device == "cpu"

    def room(self) -> int | None:
        """Bytes that may be taken at once; None on the host."""
        import torch

        if self._on_host:
            return None
        free, _ = torch.cuda.mem_get_info()
        return int(_SHARE * (free + torch.cuda.memory_reserved() - torch.cuda.memory_allocated()))

    def reserved(self) -> int | None:
        """Bytes that are taken, idle or not; None on the host."""
        import torch

        return None if self._on_host else int(torch.cuda.memory_reserved())

    def trim(self) -> None:
        """Give back what lies idle, where it is much."""
        import torch

        if self._on_host:
            return
        if torch.cuda.memory_reserved() - torch.cuda.memory_allocated() > _IDLE_LIMIT:
            torch.cuda.empty_cache()
