"""What a problem's model must do at least, as far as that can be told from running it once.

Inputs and weights are read, outputs are written. Operations are those of matrix products,
convolutions and attention as the model writes them: another algorithm may need fewer, and what is
done element by element is left out, as it hides behind the traffic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_UNITS = {"float64": "fp64", "float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}


def counted(call: Callable[[], Any], *, tf32: bool) -> dict[str, Any]:
    """`flops` of a call, and the unit `math` for them by the dtype of what comes out.

    In float32 PyTorch's convolutions use TF32 of their own accord, its products only with `tf32`.
    """
    from torch.utils.flop_counter import FlopCounterMode

    from profilers.kernelbench.shared.trees import tensors

    with FlopCounterMode(display=False) as counter:
        output = call()
    by_operation = counter.get_flop_counts().get("Global", {})
    flops = sum(by_operation.values())
    convolved = sum(n for name, n in by_operation.items() if "convolution" in str(name))
    dtypes = [str(tensor.dtype).removeprefix("torch.") for _, tensor in tensors(output)]
    unit = next((_UNITS[dtype] for dtype in dtypes if dtype in _UNITS), "fp32")
    if unit == "fp32" and (tf32 or 2 * convolved > flops):
        unit = "tf32"
    return {"flops": int(flops), "math": unit}
