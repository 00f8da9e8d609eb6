"""The operations of a problem's model in the order in which PyTorch runs them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from profilers.kernelbench.shared.recorded_calls import tensors_in

_MOST = 64
"""A model with more steps is told by its first ones."""
_MADE = ("empty", "new_empty", "lift_fresh", "detach", "alias", "set")


def steps_of(call: Callable[[], Any]) -> list[dict[str, Any]]:
    """The steps of a call, as JSON of `mcts.domain.ModelStep`; at most 64.

    Views and allocations are none. `after` names earlier steps by their place, one that is read
    twice twice; `bytes` counts each tensor that is read and each that is written once.
    """
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils.flop_counter import flop_registry

    steps: list[dict[str, Any]] = []
    writer: dict[int, int] = {}

    class Recorder(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            given = kwargs or {}
            output = func(*args, **given)
            name = func.overloadpacket.__name__.rstrip("_")
            read, made = list(_tensors([*args, *given.values()])), tensors_in(output)
            places = {_storage(tensor) for tensor in read}
            is_view = not func._schema.is_mutable and any(_storage(one) in places for one in made)
            told = bool(made) and (made[0].is_floating_point() or made[0].numel() > 1)
            counts = told and len(steps) < _MOST
            if is_view or not counts or name.startswith(_MADE):
                return output
            after = [writer[place] for place in map(_storage, read) if place in writer]
            if name == "div" and after and _storage(read[0]) not in writer:
                name = "rdiv"  # a step's result divides something
            formula = flop_registry.get(func.overloadpacket)
            steps.append(
                {
                    "name": name.removeprefix("_"),
                    "detail": _detail(name, args),
                    "output": "x".join(map(str, made[0].shape)) or "scalar",
                    "bytes": sum(map(_bytes, _distinct([*read, *made]))),
                    "flops": int(formula(*args, **given, out_val=output)) if formula else 0,
                    "elements": made[0].numel(),
                    "after": after,
                }
            )
            writer.update({_storage(one): len(steps) - 1 for one in made})
            return output

    with torch.no_grad(), Recorder():
        call()
    return steps


def _tensors(values: Any) -> Iterator[Any]:
    for value in values:
        yield from tensors_in(value)


def _distinct(found: list[Any]) -> list[Any]:
    return list({id(tensor): tensor for tensor in found}.values())


def _storage(tensor: Any) -> int:
    return int(tensor.untyped_storage().data_ptr())


def _bytes(tensor: Any) -> int:
    return int(tensor.numel() * tensor.element_size())


def _detail(name: str, args: Any) -> str:
    """Of a convolution its geometry; of a reduction the dimensions."""
    if name == "convolution":
        _, weight, _, stride, padding, dilation, transposed, _, groups = args[:9]
        words = [f"weight {'x'.join(map(str, weight.shape))}", f"stride {_sizes(stride)}"]
        words += [f"padding {_sizes(padding)}", f"dilation {_sizes(dilation)}"]
        words += ["transposed"] if transposed else []
        return ", ".join([*words, f"{groups} groups"] if groups > 1 else words)
    if name in ("sum", "mean", "amax", "amin", "logsumexp", "softmax", "_softmax", "max", "min"):
        return f"dim {args[1]}" if len(args) > 1 else ""
    return ""


def _sizes(values: Any) -> str:
    return "x".join(map(str, values))
