"""JSON for the nested Python values that go into and come out of a model. Pure; never pickle.

null, booleans, integers, strings and finite floats stand for themselves. Everything else is an
object with one key: ``float`` ("nan", "inf", "-inf"), ``list``, ``tuple``, ``dict`` (a list of
pairs), ``dtype``, ``size``, ``device``, ``tensor`` (a `TensorSpec`).

What is decoded may come from an untrusted process: everything is checked, nothing is run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MAX_DEPTH = 16
MAX_NODES = 10_000
_MAX_TEXT = 65_536
_MAX_BITS = 128
_MAX_EXTENT = 2**48
ITEM_BYTES: Mapping[str, int] = {
    "bool": 1, "uint8": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8,
    "uint16": 2, "uint32": 4, "uint64": 8,
    "float8_e4m3fn": 1, "float8_e5m2": 1, "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8,
    "complex64": 8, "complex128": 16,
}  # fmt: skip
"""Bytes per element of the dtypes that can be passed."""


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """Where the elements of a tensor lie in a buffer: strides in elements, offset in bytes.

    Raises ValueError for an unknown dtype, negative or huge numbers, or a misaligned offset.
    """

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int

    def __post_init__(self) -> None:
        if not isinstance(self.dtype, str) or self.dtype not in ITEM_BYTES:
            raise ValueError(f"no tensor of {str(self.dtype)[:40]!r} can be passed on")
        numbers = (*self.shape, *self.strides, self.offset)
        if not all(type(number) is int and 0 <= number < _MAX_EXTENT for number in numbers):
            raise ValueError("a tensor with a negative, huge or broken extent, stride or offset")
        if len(self.shape) != len(self.strides) or len(self.shape) > MAX_DEPTH:
            raise ValueError(f"{len(self.strides)} strides for {len(self.shape)} extents")
        if self.offset % ITEM_BYTES[self.dtype]:
            raise ValueError(f"{self.dtype} at the misaligned offset {self.offset}")
        if self.elements >= _MAX_EXTENT:
            raise ValueError(f"a tensor of {self.elements} elements")
        if self.bytes >= _MAX_EXTENT:
            raise ValueError(f"a tensor that spans {self.bytes} bytes")

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TensorSpec:
        try:
            spec = cls(data["dtype"], tuple(data["shape"]), tuple(data["strides"]), data["offset"])
        except (KeyError, TypeError) as error:
            raise ValueError(f"this is no description of a tensor: {error}") from None
        if data.get("bytes", spec.bytes) != spec.bytes:
            raise ValueError(f"a tensor of {spec.bytes} bytes that says otherwise")
        return spec

    def to_json(self) -> dict[str, Any]:
        return {
            "dtype": self.dtype,
            "shape": list(self.shape),
            "strides": list(self.strides),
            "offset": self.offset,
            "bytes": self.bytes,
        }

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def span(self) -> int:
        """Elements from the first to past the last in memory, gaps included."""
        return span(self.shape, self.strides)

    @property
    def bytes(self) -> int:
        """Bytes of the span."""
        return self.span * ITEM_BYTES[self.dtype]


def span(shape: Sequence[int], strides: Sequence[int]) -> int:
    """Elements from the first to past the last in memory; 0 if there are none."""
    if 0 in shape:
        return 0
    return 1 + sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides in elements."""
    strides = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(1, extent)
    return tuple(reversed(strides))


def kept_strides(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    """`strides` if no two elements overlap and there are few gaps between them.

    Otherwise (expanded, overlapping, mostly gaps) row-major strides.
    """
    reach = 0
    for stride, extent in sorted(zip(strides, shape, strict=True)):
        if extent > 1:
            if stride <= reach:
                return contiguous_strides(shape)
            reach += (extent - 1) * stride
    if 0 in shape or span(shape, strides) > 4 * math.prod(shape):
        return contiguous_strides(shape)
    return tuple(strides)


Place = Callable[[Any], TensorSpec]
Take = Callable[[TensorSpec], Any]


def encode(value: object, place: Place) -> Any:
    """JSON of `value`; `place` stores a tensor's elements and returns where.

    Subclasses of list, tuple and dict are read without calling their methods. Raises ValueError
    with the path of what cannot be coded.
    """
    return _Encoder(place).code(value, "", 0)


class _Encoder:
    def __init__(self, place: Place) -> None:
        self._place = place
        self._nodes = 0

    def code(self, value: Any, path: str, depth: int) -> Any:
        self._nodes += 1
        _check_caps(self._nodes, depth, path)
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is int:
            if value.bit_length() > _MAX_BITS:
                raise ValueError(f"{_named(path)} is an integer of {value.bit_length()} bits")
            return value
        if kind is str:
            if len(value) > _MAX_TEXT:
                raise ValueError(f"{_named(path)} is a text of {len(value)} characters")
            return value
        if kind is float:
            return value if math.isfinite(value) else {"float": str(value)}
        if kind.__module__ == "torch" and kind.__name__ in _TORCH_KINDS:
            return _TORCH_KINDS[kind.__name__](value)
        if isinstance(value, (list, tuple)):
            base: Any = list if isinstance(value, list) else tuple
            parts = enumerate(base.__iter__(value))
            return {base.__name__: [self.code(v, f"{path}[{i}]", depth + 1) for i, v in parts]}
        if isinstance(value, dict):
            pairs = list(dict.items(value))
            return {"dict": [self._pair(k, v, path, depth) for k, v in pairs]}
        if hasattr(value, "data_ptr") and hasattr(value, "stride"):
            return {"tensor": self._place(value).to_json()}
        raise ValueError(f"{_named(path)} is a {kind.__module__}.{kind.__qualname__}")

    def _pair(self, key: object, value: object, path: str, depth: int) -> list[Any]:
        if key is not None and not any(type(key) is kind for kind in (bool, int, float, str)):
            raise ValueError(f"{_named(path)} has a {type(key).__qualname__} for a key")
        inner = f"{path}[{key!r}]"
        return [self.code(key, inner, depth + 1), self.code(value, inner, depth + 1)]


_TORCH_KINDS: Mapping[str, Callable[[Any], Any]] = {
    "dtype": lambda value: {"dtype": str(value).removeprefix("torch.")},
    "Size": lambda value: {"size": [int(extent) for extent in value]},
    "device": lambda value: {"device": str(value)},
}


def decode(data: Any, take: Take) -> Any:
    """The value of `data`; `take` makes a tensor from a description of where it lies.

    Sizes, dtypes and devices become torch's, which is imported only then. Raises ValueError.
    """
    return _Decoder(take).value(data, "", 0)


class _Decoder:
    def __init__(self, take: Take) -> None:
        self._take = take
        self._nodes = 0

    def value(self, data: Any, path: str, depth: int) -> Any:
        self._nodes += 1
        _check_caps(self._nodes, depth, path)
        if data is None or isinstance(data, (bool, int, float, str)):
            return data
        kind, content = _unpacked(data, path)
        if kind == "tensor":
            return self._take(TensorSpec.from_json(content))
        if kind in ("list", "tuple"):
            parts = [self.value(v, f"{path}[{i}]", depth + 1) for i, v in enumerate(content)]
            return parts if kind == "list" else tuple(parts)
        if kind == "dict":
            return dict(self._pair(pair, path, depth) for pair in content)
        if kind == "float":
            return _special_float(content, path)
        return _torch_value(kind, content, path)

    def _pair(self, pair: Any, path: str, depth: int) -> tuple[Any, Any]:
        key, value = _key_and_value(pair, path)
        inner = f"{path}[{key!r}]"
        return self.value(key, inner, depth + 1), self.value(value, inner, depth + 1)


def leaves(data: Any) -> list[tuple[str, TensorSpec]]:
    """The tensors of coded `data` in order, each with its path such as ``[0]['mask']``.

    Raises ValueError if `data` is nothing that `encode` makes.
    """
    found: list[tuple[str, TensorSpec]] = []
    nodes = 0

    def walk(data: Any, path: str, depth: int) -> None:
        nonlocal nodes
        nodes += 1
        _check_caps(nodes, depth, path)
        if data is None or isinstance(data, (bool, int, float, str)):
            return
        kind, content = _unpacked(data, path)
        if kind == "tensor":
            found.append((path, TensorSpec.from_json(content)))
        elif kind in ("list", "tuple"):
            for index, part in enumerate(content):
                walk(part, f"{path}[{index}]", depth + 1)
        elif kind == "dict":
            for pair in content:
                key, value = _key_and_value(pair, path)
                walk(value, f"{path}[{key!r}]", depth + 1)

    walk(data, "", 0)
    return found


def _unpacked(data: Any, path: str) -> tuple[str, Any]:
    if not isinstance(data, dict) or len(data) != 1:
        raise ValueError(f"{_named(path)} is no coded value")
    ((kind, content),) = data.items()
    shapes = {"tensor": dict, "list": list, "tuple": list, "dict": list, "size": list}
    if not isinstance(content, shapes.get(kind, str)):
        raise ValueError(f"{_named(path)} is a broken {str(kind)[:20]!r}")
    return kind, content


def _key_and_value(pair: Any, path: str) -> tuple[Any, Any]:
    if not isinstance(pair, list) or len(pair) != 2:
        raise ValueError(f"{_named(path)} is a broken dict")
    key = pair[0]
    if isinstance(key, dict) and set(key) == {"float"}:
        key = _special_float(key["float"], path)
    if key is not None and not isinstance(key, (bool, int, float, str)):
        raise ValueError(f"{_named(path)} has a broken key")
    return key, pair[1]


def _special_float(text: Any, path: str) -> float:
    if text not in ("nan", "inf", "-inf"):
        raise ValueError(f"{_named(path)} is a broken float")
    return float(text)


def _torch_value(kind: str, content: Any, path: str) -> Any:
    unknown = ValueError(f"{_named(path)} is of the unknown kind {kind[:20]!r}")
    if kind not in ("size", "dtype", "device"):
        raise unknown
    import torch

    if kind == "size" and all(type(n) is int and 0 <= n < _MAX_EXTENT for n in content):
        return torch.Size(content)
    if kind == "dtype" and isinstance(getattr(torch, content, None), torch.dtype):
        return getattr(torch, content)
    if kind == "device" and content.partition(":")[0] in ("cpu", "cuda", "meta"):
        return torch.device(content)
    raise unknown


def _check_caps(nodes: int, depth: int, path: str) -> None:
    if depth > MAX_DEPTH:
        raise ValueError(f"{_named(path)} is nested deeper than {MAX_DEPTH}")
    if nodes > MAX_NODES:
        raise ValueError(f"more than {MAX_NODES} values")


def _named(path: str) -> str:
    return f"the value at {path}" if path else "the value"
