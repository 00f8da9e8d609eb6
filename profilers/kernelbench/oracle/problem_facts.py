"""Facts about a problem, for the judge: names, shapes, sizes, least work, from running it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from profilers.kernelbench.oracle.memory import shared_bytes
from profilers.kernelbench.oracle.reference import ReferenceModel
from profilers.kernelbench.shared.problem import ProblemFault
from profilers.kernelbench.shared.shared_memory import aligned, spec_of
from profilers.kernelbench.shared.trees import shape_text, tensors
from profilers.kernelbench.shared.values import encode
from profilers.kernelbench.shared.weights import Weights

_UNITS = {"float64": "fp64", "float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}


def problem_facts(
    reference: ReferenceModel, weights: Weights, *, init: Any, first: list[Any]
) -> dict[str, Any]:
    """The facts, as JSON, of a problem with the constructor's arguments `init` and inputs `first`.

    Bytes are those that tensors take in shared memory. Raises ProblemFault if something cannot
    pass between processes, and what `reference` raises.
    """
    reference.note_changed_inputs(first)
    output = reference.run(first)
    try:
        encode(output, spec_of)
        coded = encode(init, _Packed())
        encode(first, spec_of)
    except ValueError as error:
        raise ProblemFault(
            f"{error}: only tensors, numbers, texts, None, and lists, tuples and dicts of them "
            "pass between processes"
        ) from None
    init_bytes = shared_bytes(init)
    return {
        "parameters": list(weights.changing),
        "derived": list(weights.derived),
        "init": coded,
        "init_bytes": init_bytes,
        "weight_bytes": init_bytes + shared_bytes(list(weights.named.values())),
        "input_bytes": shared_bytes(first),
        "output_bytes": shared_bytes(output),
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


def count_work(call: Callable[[], Any], *, tf32: bool) -> dict[str, Any]:
    """`flops` of a call, and the arithmetic unit `math`, by the dtype of its output.

    Only matrix products, convolutions, attention and recurrent layers are counted, as the model
    writes them: another algorithm may need fewer, and elementwise work hides behind memory traffic.
    In float32 PyTorch's convolutions and recurrent layers use TF32 of their own accord, its
    products only with `tf32`.
    """
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from profilers.kernelbench.shared.trees import tensors

    recurrent = {
        torch.ops.aten._cudnn_rnn: _cudnn_rnn_flops,
        torch.ops.aten.mkldnn_rnn_layer: _mkldnn_rnn_flops,
    }
    with FlopCounterMode(display=False, custom_mapping=recurrent) as counter:
        output = call()
    by_operation = counter.get_flop_counts().get("Global", {})
    flops = sum(by_operation.values())
    by_cudnn = sum(
        n for name, n in by_operation.items() if "convolution" in str(name) or "_rnn" in str(name)
    )
    dtypes = [str(tensor.dtype).removeprefix("torch.") for _, tensor in tensors(output)]
    unit = next((_UNITS[dtype] for dtype in dtypes if dtype in _UNITS), "fp32")
    if unit == "fp32" and (tf32 or 2 * by_cudnn > flops):
        unit = "tf32"
    return {"flops": int(flops), "math": unit}


def _cudnn_rnn_flops(inputs: Any, weights: Any, *_: Any, **__: Any) -> int:
    return _recurrent_flops(inputs, weights)


def _mkldnn_rnn_flops(inputs: Any, *weights_and_rest: Any, **_: Any) -> int:
    return _recurrent_flops(inputs, weights_and_rest[:4])


def _recurrent_flops(inputs: Any, weights: Any) -> int:
    """Each weight matrix multiplied once at each position of `inputs` (shapes, features last)."""
    matrices = sum(math.prod(shape) for shape in weights if shape is not None and len(shape) == 2)
    return int(2 * matrices * math.prod(inputs[:-1]))
