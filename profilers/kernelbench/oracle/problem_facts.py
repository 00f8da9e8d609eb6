"""What the oracle tells the judge about a problem: names, shapes and sizes, from one run of it."""

from __future__ import annotations

from typing import Any

from profilers.kernelbench.oracle.honest import Reference
from profilers.kernelbench.oracle.shared_slabs import slab_bytes
from profilers.kernelbench.shared.exchange import aligned, spec_of
from profilers.kernelbench.shared.problem import Fault
from profilers.kernelbench.shared.trees import shape_text, tensors
from profilers.kernelbench.shared.values import encode
from profilers.kernelbench.shared.weights import Weights


def problem_facts(
    reference: Reference, weights: Weights, *, init: Any, first: list[Any]
) -> dict[str, Any]:
    """The facts, as JSON, of a problem with the constructor's arguments `init` and inputs `first`.

    Bytes are those that tensors take in shared memory. Raises Fault where something cannot pass
    between processes, and what `reference` raises.
    """
    reference.note_changed_inputs(first)
    output = reference.run(first)
    try:
        encode(output, spec_of)
        coded = encode(init, _Packed())
        encode(first, spec_of)
    except ValueError as error:
        raise Fault(
            f"{error}: only tensors, numbers, texts, None, and lists, tuples and dicts of them "
            "pass between processes"
        ) from None
    init_bytes = slab_bytes(init)
    return {
        "parameters": list(weights.changing),
        "derived": list(weights.derived),
        "init": coded,
        "init_bytes": init_bytes,
        "weight_bytes": init_bytes + slab_bytes(list(weights.named.values())),
        "input_bytes": slab_bytes(first),
        "output_bytes": slab_bytes(output),
        "inputs": [f"{path} {shape_text(tensor)}" for path, tensor in tensors(first)],
        "outputs": [f"output{path} {shape_text(one)}" for path, one in tensors(output)],
    }


class _Packed:
    """A `Place` that only says where tensors would lie, one after another from byte 0."""

    def __init__(self) -> None:
        self._at = 0

    def __call__(self, tensor: Any) -> Any:
        spec = spec_of(tensor, self._at)
        self._at = aligned(spec.offset + spec.bytes)
        return spec
