"""The weights of the problem's model: which ones a candidate gets, and how they change.

A candidate gets every parameter and every buffer that does not follow from the constructor's
arguments (masks, index tables, counters); it makes those itself if it needs them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

_RUNNING_MEAN, _RUNNING_VAR = "running_mean", "running_var"
_RUNNING = (_RUNNING_MEAN, _RUNNING_VAR)


class Weights:
    """Parameters and buffers of `model` by name; `named` are those that a candidate gets.

    `other` is the same model constructed under another seed: a buffer that is equal in both follows
    from the constructor's arguments.
    """

    def __init__(self, model: Any, other: Any | None = None) -> None:
        parameters = dict(model.named_parameters(remove_duplicate=False))
        buffers = dict(model.named_buffers(remove_duplicate=False))
        others = dict(other.named_buffers(remove_duplicate=False)) if other is not None else {}
        self.parameters: Mapping[str, Any] = parameters
        self.derived = tuple(
            name
            for name, buffer in buffers.items()
            if not is_running(name) and _same(buffer, others.get(name))
        )
        self.named: Mapping[str, Any] = {
            **parameters,
            **{name: buffer for name, buffer in buffers.items() if name not in self.derived},
        }
        self._scale: dict[str, float] = {}

    @property
    def changing(self) -> dict[str, Any]:
        """Weights that may change: floating parameters and running statistics, once each."""
        seen: set[int] = set()
        found = {}
        for name, tensor in self.named.items():
            ours = name in self.parameters or is_running(name)
            if ours and tensor.is_floating_point() and tensor.numel() and id(tensor) not in seen:
                seen.add(id(tensor))
                found[name] = tensor
        return found

    def randomise(self, seed: int) -> None:
        """Give constant weights (zero biases, a norm's ones, running statistics) other content.

        Otherwise a candidate could skip work that constants make unnecessary. Zeros
        become normal with deviation 0.1, other constants are multiplied by 0.5 to 1.5, running
        variances become uniform on [0.5, 1.5].
        """
        import torch

        with torch.no_grad():
            for index, (name, tensor) in enumerate(self.changing.items()):
                generator = _generator(tensor, seed, index)
                if name.endswith(_RUNNING_VAR):
                    tensor.copy_(_uniform(tensor, generator))
                elif _is_constant(tensor):
                    value = float(tensor.flatten()[0])
                    if value == 0:
                        tensor.copy_(0.1 * _normal(tensor, generator))
                    else:
                        tensor.copy_(value * _uniform(tensor, generator))
        self._scale = {name: _rms(tensor) for name, tensor in self.changing.items()}

    def mutate(self, seed: int) -> None:
        """Change every value in place, by a fifth or so; the scale of each tensor is kept."""
        import torch

        with torch.no_grad():
            for index, (name, tensor) in enumerate(self.changing.items()):
                _mutate(name, tensor, _generator(tensor, seed, index), strength=0.2)
                wanted = self._scale.get(name)
                if wanted and (found := _rms(tensor)) > 0 and not name.endswith(_RUNNING_VAR):
                    tensor.mul_(wanted / found)

    def mutate_part(self, seed: int, *, strength: float = 0.5) -> None:
        """Change one row of one tensor in place, which sampling the weights would miss.

        Its elements change by `strength` times their size or so.
        """
        import torch

        names = list(self.changing)
        name = names[seed % len(names)]
        tensor = self.changing[name]
        row = tensor if tensor.dim() == 0 else tensor[(seed // len(names)) % len(tensor)]
        with torch.no_grad():
            row = row.view(row.shape if row.dim() else (1,))
            _mutate(name, row, _generator(tensor, seed, 0), strength=strength)

    def copied(self, most_bytes: int) -> dict[str, Any] | None:
        """Copies of what may change; None if they would take more than so many bytes."""
        changing = self.changing
        if sum(tensor.numel() * tensor.element_size() for tensor in changing.values()) > most_bytes:
            return None
        return {name: tensor.detach().clone() for name, tensor in changing.items()}

    @contextmanager
    def as_in(self, copies: Mapping[str, Any]) -> Iterator[None]:
        """What may change, as it was when it was copied; as it is now again at the end."""
        import torch

        now = {name: self.named[name].detach().clone() for name in copies}
        try:
            with torch.no_grad():
                for name, copy in copies.items():
                    self.named[name].copy_(copy)
            yield
        finally:
            with torch.no_grad():
                for name, tensor in now.items():
                    self.named[name].copy_(tensor)

    @contextmanager
    def changed(self, names: list[str], seed: int) -> Iterator[None]:
        """The named tensors with clearly other content; their own comes back at the end."""
        import torch

        chosen = {name: self.named[name] for name in names}
        kept = {name: tensor.detach().clone() for name, tensor in chosen.items()}
        try:
            with torch.no_grad():
                for index, (name, tensor) in enumerate(chosen.items()):
                    _mutate(name, tensor, _generator(tensor, seed, index), strength=0.5)
            yield
        finally:
            with torch.no_grad():
                for name, tensor in chosen.items():
                    tensor.copy_(kept[name])


def derives_buffers(model: Any) -> bool:
    """Whether `model` has buffers that may follow from the constructor's arguments."""
    return not all(is_running(name) for name, _ in model.named_buffers())


def _mutate(name: str, tensor: Any, generator: Any, *, strength: float) -> None:
    if name.endswith(_RUNNING_VAR):
        tensor.mul_(_uniform(tensor, generator))
        return
    spread = float(tensor.float().std()) if tensor.numel() > 1 else abs(float(tensor))
    tensor.mul_(1 + strength * _normal(tensor, generator))
    tensor.add_(strength / 4 * (spread or 1.0) * _normal(tensor, generator))


def is_running(name: str) -> bool:
    """Whether a buffer is a running statistic of a normalisation."""
    return name.rpartition(".")[2] in _RUNNING


def _is_constant(tensor: Any) -> bool:
    """Whether all elements are equal; a single element must be 0 or 1, the usual defaults."""
    first = tensor.flatten()[0]
    if tensor.numel() == 1:
        return float(first) in (0.0, 1.0)
    return bool((tensor == first).all())


def _same(buffer: Any, other: Any | None) -> bool:
    if other is None or buffer.shape != other.shape or buffer.dtype != other.dtype:
        return False
    return bool(((buffer == other) | ((buffer != buffer) & (other != other))).all())


def _generator(tensor: Any, seed: int, index: int) -> Any:
    import torch

    made = torch.Generator(device=tensor.device)
    return made.manual_seed((seed + 0x9E3779B97F4A7C15 * index) % 2**63)


def _normal(tensor: Any, generator: Any) -> Any:
    import torch

    return torch.randn(
        tensor.shape, generator=generator, device=tensor.device, dtype=torch.float32
    ).to(tensor.dtype)


def _uniform(tensor: Any, generator: Any) -> Any:
    import torch

    made = torch.rand(tensor.shape, generator=generator, device=tensor.device)
    return (0.5 + made).to(tensor.dtype)


def _rms(tensor: Any) -> float:
    return float(tensor.detach().float().square().mean().sqrt())
