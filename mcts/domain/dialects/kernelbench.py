"""The dialect `kernelbench`: a Python file with a `ModelNew` in answer to a problem's `Model`."""

from __future__ import annotations

from mcts.domain.dialects.dialect import Dialect


class KernelBench(Dialect):
    """PyTorch modules. Their tunables are constants in the file: no plan declares them."""

    __slots__ = ()

    forms = ("host", "kernelbench")
    in_pytorch = True
    baseline_is_reference = True
    language = "python"
    suffix = ".py"
    comment = "#"


KERNELBENCH = KernelBench("kernelbench")
