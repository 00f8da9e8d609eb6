"""A call that was made: what it returned, when, where that lies, and copies of it.

Everything here reads what a candidate returned, and trusts none of its methods.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from profilers.kernelbench.shared import values
from profilers.kernelbench.shared.values import encode, span


def device_name(device: int | str) -> str:
    """The device's name in torch: "cpu" or "cuda:0"."""
    return "cpu" if device == "cpu" else f"cuda:{device}"


def tensors_in(value: Any) -> list[Any]:
    """The tensors of a nested value, in the order in which they are coded.

    Containers are read by the methods of list, tuple and dict, whatever their subclass overrides.
    """
    if isinstance(value, dict):
        return [found for part in dict.values(value) for found in tensors_in(part)]
    if isinstance(value, (list, tuple)):
        parts = list.__iter__(value) if isinstance(value, list) else tuple.__iter__(value)
        return [found for part in parts for found in tensors_in(part)]
    return [value] if hasattr(value, "data_ptr") and hasattr(value, "stride") else []


@dataclass(frozen=True, slots=True)
class TensorPlace:
    """Where a tensor's first element and its storage lie on the device."""

    element: int
    storage: int

    @classmethod
    def of(cls, tensor: Any) -> TensorPlace:
        return cls(tensor.data_ptr(), tensor.untyped_storage().data_ptr())


@dataclass(slots=True)
class RecordedCall:
    """One call: what it returned, its marks, and copies of its tensors made right behind it.

    `places` are where those lay then: PyTorch may reclaim the memory of a CUDA graph of its own,
    and then no longer gives the address. Both are None if the output is no plain tensor.
    """

    output: Any
    begin: Any
    end: Any
    tensors: list[Any]
    copies: list[Any]
    places: list[TensorPlace | None]
    us: float = 0.0

    def coded(self, place: values.Place) -> Any:
        """JSON of the output, with the copies for its tensors. Raises ValueError."""
        copies = {
            id(own): copy
            for own, copy in zip(self.tensors, self.copies, strict=True)
            if copy is not None
        }
        return encode(self.output, lambda tensor: place(copies.get(id(tensor), tensor)))

    def changed(self) -> list[int]:
        """Indices of outputs that have changed since right behind the call.

        Outputs whose memory PyTorch has reclaimed cannot be checked, and count as unchanged.
        """
        pairs = enumerate(zip(self.tensors, self.copies, strict=True))
        return [i for i, (own, copy) in pairs if copy is not None and not _unchanged(own, copy)]

    def as_it_is(self) -> RecordedCall:
        """The same call with the outputs as they are now in place of the copies."""
        return replace(self, copies=list(self.tensors))

    def storages(self) -> set[int]:
        """Addresses of the memory behind the outputs."""
        return {place.storage for place in self.places if place is not None} - {0}


def same_bytes(first: Any, second: Any) -> bool:
    """Whether two plain tensors hold the same bits, NaN included."""
    import torch

    if first.shape != second.shape or first.dtype != second.dtype:
        return False
    return bool(torch.equal(_as_integers(first), _as_integers(second)))


def _unchanged(own: Any, copy: Any) -> bool:
    try:
        return same_bytes(own, copy)
    except RuntimeError:  # raised for a plain tensor that a replayed graph has overwritten
        return True


def reach_bytes(tensor: Any) -> int:
    """From the first to past the last element of a strided tensor, in bytes."""
    return int(span(tensor.shape, tensor.stride()) * tensor.element_size())


def has_storage(tensor: Any) -> bool:
    """Whether all elements lie in the tensor's storage, which may be resized behind its back."""
    begin = tensor.storage_offset() * tensor.element_size()
    return bool(begin + reach_bytes(tensor) <= tensor.untyped_storage().nbytes())


def _as_integers(tensor: Any) -> Any:
    import torch

    plain = tensor.detach().resolve_conj().resolve_neg()
    if plain.dtype.is_complex:
        plain = torch.view_as_real(plain)
    kinds = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return plain.view(kinds[plain.element_size()])
