"""Fresh inputs: drawn under a seed, variations of them, and the draws that are kept.

A candidate that is right only on the problem's own distribution, or only in its own shape, is not
right. Inputs that the problem's own model refuses, or for which it is not finite, are not used.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from profilers.children.protocol import RequestRefused
from profilers.kernelbench.oracle.beyond import may_be_relied_upon, vary
from profilers.kernelbench.oracle.reference import Expectation, ReferenceModel
from profilers.kernelbench.shared.problem import ProblemFault, ProblemFile, check_alike
from profilers.kernelbench.shared.trees import held_bytes, mapped, replaced, tensors
from profilers.kernelbench.shared.variations import NEAR, kinds_beyond

_FACTORS = (0.25, 4.0)
_UNIT_DEVIATION = 12**-0.5  # of the uniform distribution on [0, 1)
_LEAST_SAMPLE = 64
_CENTRED = 0.1
_SURE = 5.0  # standard errors
_SMALL = 256 * 2**20


class VariationUnavailable(Exception):
    """Why a variation does not apply to a problem."""


@dataclass(slots=True)
class Draw:
    """Inputs that the oracle keeps, and the expected outputs for them.

    `stale` is the expectation from before the weights last changed. `shown`: a candidate may have
    seen the inputs, as they were written into shared memory.
    """

    inputs: list[Any]
    variation: str
    expectation: Expectation | None = None
    stale: Expectation | None = None
    shown: bool = False

    @property
    def bytes(self) -> int:
        kept = [part.bytes for part in (self.expectation, self.stale) if part is not None]
        return held_bytes(self.inputs) + sum(kept)


class InputSource:
    """Draws inputs of one problem, all of the same shapes. Raises ProblemFault if they are not."""

    def __init__(self, problem: ProblemFile, reference: ReferenceModel, first: list[Any]) -> None:
        self._problem = problem
        self._reference = reference
        self._alike = mapped(first, lambda tensor: tensor.to("meta"))

    def given(self, seed: int) -> list[Any]:
        """What `get_inputs` returns under `seed`."""
        inputs = self._problem.inputs(seed)
        check_alike(self._alike, inputs)
        return inputs

    def draw(self, seed: int, variation: str) -> Draw:
        """A draw; VariationUnavailable if the variation or the model does not allow it."""
        kinds = kinds_beyond(variation)
        if variation not in ("given", *NEAR) and not kinds:
            raise VariationUnavailable(f"there is no variation {variation!r}")
        inputs = self.given(seed)
        if variation == "given":
            return Draw(inputs=inputs, variation=variation)
        reason = VariationUnavailable("nothing would change")
        found = beyond_range(inputs, kinds, seed) if kinds else variants(inputs, variation, seed)
        for varied in found:
            try:
                self._check(varied, variation)
            except VariationUnavailable as error:
                reason = error
            else:
                return Draw(inputs=varied, variation=variation)
        raise reason

    def _check(self, inputs: list[Any], variation: str) -> None:
        """VariationUnavailable if the model does not take `inputs`, or is not finite for them."""
        try:
            output = self._reference.run(inputs)
        except ProblemFault as fault:
            if fault.sticky:
                raise ProblemFault(
                    f"inputs {variation}: the model makes the device fault ({fault}); this "
                    "variation cannot be asked of this problem",
                    sticky=True,
                ) from None
            raise VariationUnavailable(f"the model does not take it: {fault}") from None
        if not all(_is_finite(tensor) for _, tensor in tensors(output)):
            raise VariationUnavailable("the model's own output is not finite then")


def variants(inputs: list[Any], variation: str, seed: int) -> Iterator[list[Any]]:
    """Variants of `inputs`, the likeliest first; VariationUnavailable if nothing would change.

    scaled: every float, tensor or number, times 0.25 or 4, but no labels, masks and distributions.
    signed: what is uniform on [0, 1) made normal, of the same deviation and mean zero. batch: fewer
    rows of the first input, together with all inputs of the same leading extent, or of the same
    shape, or alone. Integers stay as they are: indices, labels, lengths. Where shapes stay, tensors
    are changed in place.
    """
    chance = random.Random(seed)
    if variation == "scaled":
        yield _scaled(inputs, chance.choice(_FACTORS))
    elif variation == "signed":
        yield _signed(inputs, seed)
    else:
        yield from _fewer_rows(inputs, chance)


def beyond_range(inputs: list[Any], kinds: Sequence[str], seed: int) -> Iterator[list[Any]]:
    """`inputs` with rows that the problem does not draw; VariationUnavailable if none can be."""
    if not vary([tensor for _, tensor in tensors(inputs)], kinds, seed):
        raise VariationUnavailable("no input looks drawn freely")
    yield inputs


def is_uniform(tensor: Any) -> bool:
    """Whether a tensor looks drawn from [0, 1): by its extremes, its mean and its deviation."""
    count = tensor.numel()
    if not tensor.is_floating_point() or count < _LEAST_SAMPLE:
        return False
    low, high = (float(value) for value in tensor.aminmax())
    if not (0 <= low < 0.25 and 0.75 < high <= 1):
        return False
    mean, deviation = _moments(tensor)
    slack = 0.01 + _SURE * _UNIT_DEVIATION / count**0.5
    return bool(abs(mean - 0.5) < slack and abs(deviation - _UNIT_DEVIATION) < slack)


def is_centred(inputs: Sequence[Any]) -> bool:
    """Whether every tensor of floats has a mean near zero, for its deviation; False without any."""
    floats = [tensor for _, tensor in tensors(inputs) if tensor.is_floating_point()]
    moments = [_moments(tensor) for tensor in floats if tensor.numel()]
    return bool(moments) and all(abs(mean) < _CENTRED * deviation for mean, deviation in moments)


def _scaled(inputs: list[Any], factor: float) -> list[Any]:
    floats = [tensor for _, tensor in tensors(inputs) if tensor.is_floating_point()]
    found = [tensor for tensor in floats if not may_be_relied_upon(tensor)]
    if not found:
        raise VariationUnavailable("no input is a tensor of floats that may be scaled")
    for tensor in found:
        tensor.mul_(factor)
    return [one * factor if type(one) is float else one for one in inputs]


def _signed(inputs: list[Any], seed: int) -> list[Any]:
    import torch

    found = [tensor for _, tensor in tensors(inputs) if is_uniform(tensor)]
    if not found:
        raise VariationUnavailable("no input is uniform on [0, 1)")
    for index, tensor in enumerate(found):
        generator = torch.Generator(device=tensor.device)
        generator.manual_seed((seed ^ (index + 1)) % 2**63)
        tensor.normal_(0.0, _UNIT_DEVIATION, generator=generator)
    return inputs


def _fewer_rows(inputs: list[Any], chance: random.Random) -> Iterator[list[Any]]:
    found = tensors(inputs)
    first = found[0][1]
    rows = int(first.shape[0]) if first.dim() else 0
    if rows < 2:
        raise VariationUnavailable("the first input has no rows to leave out")
    fewer = chance.randint(max(1, rows // 2), rows - 1)
    if fewer > 2 and fewer % 2 == 0:
        fewer -= 1  # vectorised loops often mishandle odd extents
    leading = [path for path, one in found if one.dim() and int(one.shape[0]) == rows]
    alike = [path for path, one in found if one.shape == first.shape]
    choices = (leading, alike, [found[0][0]])
    for index, chosen in enumerate(choices):
        if chosen in choices[:index]:
            continue
        varied = inputs
        for path in chosen:
            varied = replaced(varied, path, dict(found)[path][:fewer].clone())
        yield varied


def _moments(tensor: Any) -> tuple[float, float]:
    """Mean and standard deviation, without a double copy of all of it."""
    total = squares = 0.0
    for part in tensor.reshape(-1).split(2**26):
        total += float(part.double().sum())
        squares += float(part.double().square().sum())
    mean = total / tensor.numel()
    return mean, max(0.0, squares / tensor.numel() - mean**2) ** 0.5


def _is_finite(tensor: Any) -> bool:
    if not tensor.is_floating_point() and not tensor.is_complex():
        return True
    return all(bool(part.isfinite().all()) for part in tensor.reshape(-1).split(2**28))


class DrawStore:
    """Draws by the names that the judge gives them, and the last forgotten one, if small.

    A cheat may repeat an output that was right for other inputs or earlier weights. To recognise
    it, small expectations are kept beyond their use.
    """

    def __init__(self) -> None:
        self._draws: dict[str, Draw] = {}
        self._forgotten: Draw | None = None

    def __getitem__(self, name: str) -> Draw:
        """RequestRefused "internal" if there is none."""
        if name not in self._draws:
            raise RequestRefused("internal", f"there is no draw {name!r}")
        return self._draws[name]

    def __setitem__(self, name: str, draw: Draw) -> None:
        self._draws[name] = draw

    @property
    def bytes(self) -> int:
        """Bytes of the draws that have a name."""
        return sum(draw.bytes for draw in self._draws.values())

    def others(self, draw: Draw) -> list[Draw]:
        """All draws but this one that a candidate may have seen, to look for their outputs."""
        return [other for other in self._known() if other is not draw and other.shown]

    def outdate(self) -> None:
        """Mark all expectations as stale, because the weights have changed."""
        for draw in self._known():
            if draw.expectation is not None and draw.expectation.bytes <= _SMALL:
                draw.stale = draw.expectation
            draw.expectation = None

    def forget(self, names: Iterable[str]) -> None:
        """Drop draws; unknown names are ignored."""
        for name in names:
            draw = self._draws.pop(name, None)
            if draw is not None and draw.expectation is not None:
                small = draw.bytes + draw.expectation.bytes <= _SMALL
                self._forgotten = draw if small and draw.shown else None

    def _known(self) -> list[Draw]:
        return [*self._draws.values(), *([self._forgotten] if self._forgotten else [])]
