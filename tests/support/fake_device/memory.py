"""Arrays in a memfd, coded as the protocol codes tensors."""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class FakeBuffer:
    def __init__(self, fd: int, size: int) -> None:
        self.fd, self.size = fd, size
        self._map = mmap.mmap(fd, size)

    @classmethod
    def create(cls, size: int) -> FakeBuffer:
        fd = os.memfd_create("buffer")
        os.truncate(fd, size)
        return cls(fd, size)

    def put(self, arrays: list[Array], at: int) -> list[dict[str, Any]]:
        specs = []
        for array in arrays:
            array = np.ascontiguousarray(array)
            self._map[at : at + array.nbytes] = array.tobytes()
            specs.append(
                {
                    "dtype": str(array.dtype), "shape": list(array.shape), "offset": at,
                    "strides": [n // array.itemsize for n in array.strides],
                    "bytes": array.nbytes,
                }
            )  # fmt: skip
            at += -(-array.nbytes // 256) * 256
        return specs

    def get(self, spec: dict[str, Any]) -> Array:
        raw = self._map[spec["offset"] : spec["offset"] + spec["bytes"]]
        return np.frombuffer(raw, dtype=spec["dtype"]).reshape(spec["shape"]).copy()


def coded(specs: list[dict[str, Any]]) -> dict[str, Any]:
    return {"list": [{"tensor": spec} for spec in specs]}


def specs_of(data: Any) -> list[dict[str, Any]]:
    return [part["tensor"] for part in data["list"]]
