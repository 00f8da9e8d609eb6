"""A model's tensors: restored after a run, or converted to float64 or TF32 during one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def precision(*, tf32: bool) -> Iterator[None]:
    """TF32 matrix products and convolutions if `tf32`; torch's defaults otherwise."""
    import torch

    if not tf32:
        yield
        return
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    before = (matmul.allow_tf32, cudnn.allow_tf32)
    matmul.allow_tf32 = cudnn.allow_tf32 = True
    try:
        yield
    finally:
        matmul.allow_tf32, cudnn.allow_tf32 = before


@contextmanager
def restored_state(model: Any) -> Iterator[set[int]]:
    """Restore buffers and attributes at the end; yields the addresses of the model's memory."""
    import torch

    buffers = [(buffer, buffer.detach().clone()) for buffer in model.buffers()]
    plain = [
        (module, name, value, value.detach().clone()) for module, name, value in _plain_of(model)
    ]
    state = [tensor for tensor, _ in buffers] + [value for _, _, value, _ in plain]
    storages = {storage_of(tensor) for tensor in (*state, *model.parameters())}
    try:
        yield storages
    finally:
        with torch.no_grad():
            for buffer, content in buffers:
                buffer.copy_(content)
            for module, name, value, content in plain:
                value.copy_(content)
                module.__dict__[name] = value


@contextmanager
def widened(model: Any) -> Iterator[None]:
    """Parameters, buffers, attributes and default dtype in float64 inside; restored exactly."""
    import torch

    parameters = [(one, one.data) for one in model.parameters() if _is_narrow(one)]
    buffers = [
        (module, name, buffer)
        for module in model.modules()
        for name, buffer in module._buffers.items()
        if buffer is not None and _is_narrow(buffer)
    ]
    plain = [found for found in _plain_of(model) if _is_narrow(found[2])]
    default = torch.get_default_dtype()
    try:
        for parameter, data in parameters:
            parameter.data = wider(data)
        for module, name, buffer in buffers:
            module._buffers[name] = wider(buffer)
        for module, name, value in plain:
            module.__dict__[name] = wider(value)
        torch.set_default_dtype(torch.float64)
        yield
    finally:
        torch.set_default_dtype(default)
        for parameter, data in parameters:
            parameter.data = data
        for module, name, buffer in buffers:
            module._buffers[name] = buffer
        for module, name, value in plain:
            module.__dict__[name] = value


@contextmanager
def tf32_weights(model: Any) -> Iterator[None]:
    """Float32 parameters rounded to TF32 inside."""
    import torch

    kept = [
        (parameter, parameter.data)
        for parameter in model.parameters()
        if parameter.dtype == torch.float32
    ]
    try:
        for parameter, data in kept:
            parameter.data = to_tf32(data)
        yield
    finally:
        for parameter, data in kept:
            parameter.data = data


def to_tf32(tensor: Any) -> Any:
    """Finite float32 values rounded to 10 bits of mantissa, ties to even; others as they are."""
    import torch

    if tensor.dtype != torch.float32:
        return tensor
    bits = tensor.contiguous().view(torch.int32)
    rounded = (bits + 0xFFF + ((bits >> 13) & 1)) & ~0x1FFF
    return torch.where(tensor.isfinite(), rounded.view(torch.float32), tensor)


def _plain_of(model: Any) -> list[tuple[Any, str, Any]]:
    """Tensors that modules hold as ordinary attributes."""
    import torch

    return [
        (module, name, value)
        for module in model.modules()
        for name, value in vars(module).items()
        if isinstance(value, torch.Tensor)
    ]


def _is_narrow(tensor: Any) -> bool:
    return bool(wider_dtype(tensor.dtype) != tensor.dtype)


def wider(tensor: Any) -> Any:
    return tensor.detach().to(wider_dtype(tensor.dtype))


def wider_dtype(dtype: Any) -> Any:
    import torch

    if dtype.is_complex:
        return torch.complex128
    return torch.float64 if dtype.is_floating_point else dtype


def storage_of(tensor: Any) -> int:
    return int(tensor.untyped_storage().data_ptr())
