"""How an output is nested: kinds, keys, shapes and dtypes, compared exactly and by name."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any


def structure_difference(expected: Any, got: Any, path: str = "output") -> str | None:
    """How coded `got` differs from coded `expected` in nesting, keys, shapes or dtypes; or None.

    Numbers and texts outside of tensors must be equal.
    """
    kind, content = _kind(expected)
    other, found = _kind(got)
    if kind != other:
        return f"{path} is {_called(got)}, the problem's model returns {_called(expected)}"
    if kind == "tensor":
        return _tensor_difference(content, found, path)
    if kind in ("list", "tuple"):
        if len(content) != len(found):
            return f"{path} holds {len(found)} values, the problem's model returns {len(content)}"
        pairs = [
            (f"{path}[{i}]", a, b) for i, (a, b) in enumerate(zip(content, found, strict=True))
        ]
    elif kind == "dict":
        keys, others = ([str(pair[0]) for pair in part] for part in (content, found))
        if keys != others:
            return f"{path} has the keys {others}, the problem's model returns {keys}"
        pairs = [(f"{path}[{a[0]!r}]", a[1], b[1]) for a, b in zip(content, found, strict=True)]
    else:
        if kind == "number" and _close(content, found):
            return None
        return None if content == found else f"{path} is {found!r}, expected {content!r}"
    differences = (structure_difference(a, b, where) for where, a, b in pairs)
    return next((text for text in differences if text is not None), None)


def broadcasts(expected: Any, got: Any) -> bool:
    """Whether `got` has a tensor of fewer elements that would pass a careless comparison."""
    kind, content = _kind(expected)
    other, found = _kind(got)
    if other in ("tensor", "number") and kind == "tensor":
        shape = found["shape"] if other == "tensor" else []
        return shape != content["shape"] and _broadcastable(shape, content["shape"])
    if kind != other or kind not in ("list", "tuple", "dict") or len(content) != len(found):
        return False
    pairs = zip(content, found, strict=True)
    if kind == "dict":
        return any(broadcasts(a[1], b[1]) for a, b in pairs)
    return any(broadcasts(a, b) for a, b in pairs)


def _kind(data: Any) -> tuple[str, Any]:
    if isinstance(data, dict) and len(data) == 1:
        ((kind, content),) = data.items()
        return ("number", content) if kind == "float" else (kind, content)
    if data is None or isinstance(data, bool):
        return type(data).__name__, data
    if isinstance(data, (int, float)):
        return "number", data
    return "text", data


def _called(data: Any) -> str:
    kind, content = _kind(data)
    if kind == "tensor":
        return f"a tensor {_spec_text(content)}"
    if kind in ("list", "tuple", "dict"):
        return f"a {kind} of {len(content)}"
    return "None" if kind == "NoneType" else f"the {kind} {content!r}"


def _tensor_difference(
    expected: Mapping[str, Any], got: Mapping[str, Any], path: str
) -> str | None:
    if list(expected["shape"]) == list(got["shape"]) and expected["dtype"] == got["dtype"]:
        return None
    return f"{path} is {_spec_text(got)}, expected {_spec_text(expected)}"


def _spec_text(spec: Mapping[str, Any]) -> str:
    return f"{spec['dtype']}[{', '.join(str(extent) for extent in spec['shape'])}]"


def _broadcastable(shape: Sequence[int], target: Sequence[int]) -> bool:
    if len(shape) > len(target) or math.prod(shape) >= math.prod(target):
        return False
    return all(a in (1, b) for a, b in zip(reversed(shape), reversed(target), strict=False))


def _close(expected: Any, got: Any) -> bool:
    both = isinstance(expected, (int, float)) and isinstance(got, (int, float))
    return both and math.isclose(expected, got, rel_tol=1e-4, abs_tol=1e-4)
