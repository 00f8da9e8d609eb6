"""Compares a worker's claim about one call with the expected outputs; returns JSON.

``structure`` is a text if nesting, keys, shapes or dtypes differ; then nothing else is compared.
``problems`` are things that no honest mistake explains; ``outputs`` are the comparisons of each
tensor. The worker may still change the claim's bytes while they are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from profilers.kernelbench.oracle.comparison import (
    HONEST_FACTOR,
    agreement,
    close_everywhere,
    compare_leaf,
)
from profilers.kernelbench.oracle.draws import Draw
from profilers.kernelbench.oracle.reference import Expectation
from profilers.kernelbench.oracle.structure import broadcasts, structure_difference
from profilers.kernelbench.shared.shared_memory import SharedBuffer, spec_of
from profilers.kernelbench.shared.trees import held_bytes, tensors
from profilers.kernelbench.shared.values import TensorSpec, encode, leaves

Json = dict[str, Any]
_COPIED = 2**30
"""Bytes of a call's outputs up to which there is room for a copy on any device."""


def compare_whole(
    claim: Any,
    buffer: SharedBuffer,
    draw: Draw,
    others: Sequence[Draw],
    *,
    relative: float,
    absolute: float,
) -> Json:
    """Compare `claim` with the draw's expectation; look for wrong values in `others` as well."""
    expectation = draw.expectation
    assert expectation is not None
    answer, specs = _structure(claim, expectation.output, buffer)
    if answer["structure"]:
        return answer
    for (_, spec), leaf in zip(specs, expectation.leaves, strict=True):
        got = buffer.tensor(spec)
        answer["outputs"].append(compare_leaf(got, leaf, relative=relative, absolute=absolute))
    if any(output["mismatches"] for output in answer["outputs"]):
        answer["problems"] += _right_elsewhere(
            specs, buffer, draw, others, relative=relative, absolute=absolute
        )
    return answer


def compare_timed(
    claim: Any,
    buffer: SharedBuffer,
    baseline: Any,
    *,
    relative: float,
    absolute: float,
    honest: Sequence[float],
    expected: Callable[[], Expectation],
) -> Json:
    """Compare `claim` with the baseline's output on the same inputs, twice the tolerance apart.

    There are many calls, so what is right in float64 is asked for only where a quick check fails,
    for a copy of the very outputs that failed it; very large ones are not copied. `honest` is the
    greatest error of each of the baseline's outputs, empty if it is not known: half of what the
    full comparison allows for it is allowed here as well, which leaves the rest to the baseline.
    """
    answer, specs = _structure(claim, baseline, buffer)
    if answer["structure"]:
        return answer
    claimed = [buffer.tensor(spec) for _, spec in specs]
    copied = sum(held_bytes(one) for one in claimed) <= _COPIED
    copies = [one.clone() for one in claimed] if copied else claimed
    values = [tensor for _, tensor in tensors(baseline)]
    slacks = [HONEST_FACTOR / 2 * error for error in honest or [0.0] * len(values)]
    alike = all(
        close_everywhere(got, wanted, relative=2 * relative, absolute=2 * absolute + own)
        for got, wanted, own in zip(copies, values, slacks, strict=True)
    )
    if alike:
        paths = [path for path, _ in tensors(baseline)]
        answer["outputs"] = [
            agreement(_named(path), got.numel()) for path, got in zip(paths, copies, strict=True)
        ]
        return answer
    answer["exact"] = True
    answer["outputs"] = [
        compare_leaf(got, leaf, relative=relative, absolute=absolute)
        for got, leaf in zip(copies, expected().leaves, strict=True)
    ]
    return answer


def _structure(
    claim: Any, expected: Any, buffer: SharedBuffer
) -> tuple[Json, Sequence[tuple[str, TensorSpec]]]:
    """An answer that says what is wrong with the claim's form, and the tensors it names."""
    answer: Json = {"problems": [], "structure": None, "outputs": []}
    wanted = encode(expected, spec_of)
    try:
        specs = leaves(claim)
        for _, spec in specs:
            buffer.tensor(spec)
    except ValueError as error:
        text = f"the outputs cannot be read: {error}"
        answer["structure"] = text
        answer["problems"].append({"cheat": "forged_result", "evidence": text})
        return answer, ()
    answer["structure"] = structure_difference(wanted, claim)
    if answer["structure"] and broadcasts(wanted, claim):
        text = f"{answer['structure']}: it would pass a comparison that broadcasts"
        answer["problems"].append({"cheat": "tolerance_abuse", "evidence": text})
    return answer, specs


def _right_elsewhere(
    specs: Sequence[tuple[str, TensorSpec]],
    buffer: SharedBuffer,
    draw: Draw,
    others: Sequence[Draw],
    *,
    relative: float,
    absolute: float,
) -> list[Json]:
    """Evidence that a wrong output is right for other inputs, or for earlier weights."""

    def fits(expectation: Expectation | None) -> bool:
        if expectation is None or len(expectation.leaves) != len(specs):
            return False
        for (_, spec), leaf in zip(specs, expectation.leaves, strict=True):
            if leaf.shape != spec.shape or str(leaf.dtype) != f"torch.{spec.dtype}":
                return False
            compared = compare_leaf(buffer.tensor(spec), leaf, relative=relative, absolute=absolute)
            if compared["mismatches"]:
                return False
        return True

    if fits(draw.stale):
        text = "the output is the right one for the weights as they were before they changed"
        return [{"cheat": "cached_weights", "evidence": text}]
    if any(fits(other.expectation) or fits(other.stale) for other in others):
        text = "the output is the right one for other inputs, of another call"
        return [{"cheat": "content_cache", "evidence": text}]
    return []


def _named(path: str) -> str:
    return f"output{path}"
