"""Tensors in nested lists, tuples and dicts: a model's inputs and outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """`value` with every tensor replaced by ``change(tensor)``.

    Containers come back as plain lists, tuples and dicts, even if they were subclasses.
    """
    if is_tensor(value):
        return change(value)
    if isinstance(value, (list, tuple)):
        parts = [mapped(part, change) for part in value]
        return parts if isinstance(value, list) else tuple(parts)
    if isinstance(value, dict):
        return {key: mapped(part, change) for key, part in value.items()}
    return value


def tensors(value: Any, path: str = "") -> list[tuple[str, Any]]:
    """Every tensor in `value` with its path such as ``[0]['mask']``, in order."""
    if is_tensor(value):
        return [(path, value)]
    if isinstance(value, (list, tuple)):
        return [pair for i, part in enumerate(value) for pair in tensors(part, f"{path}[{i}]")]
    if isinstance(value, dict):
        parts = value.items()
        return [pair for key, part in parts for pair in tensors(part, f"{path}[{key!r}]")]
    return []


def replaced(value: Any, path: str, new: Any) -> Any:
    """`value` with the tensor at `path` replaced by `new`."""
    order = iter([new if where == path else tensor for where, tensor in tensors(value)])
    return mapped(value, lambda _old: next(order))


def is_tensor(value: object) -> bool:
    return hasattr(value, "data_ptr") and hasattr(value, "stride")


def held_bytes(value: Any) -> int:
    """Bytes of the tensors in `value`."""
    return sum(tensor.numel() * tensor.element_size() for _, tensor in tensors(value))


def shape_text(tensor: Any) -> str:
    """Dtype and shape, such as ``float32[16, 1024]``."""
    extents = ", ".join(str(int(extent)) for extent in tensor.shape)
    return f"{str(tensor.dtype).removeprefix('torch.')}[{extents}]"
