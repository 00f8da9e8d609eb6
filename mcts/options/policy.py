"""What a candidate of a KernelBench problem may do."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, model_validator

from mcts.errors import InputError


class Policy(BaseModel):
    """What a candidate of a `kernelbench` task may do.

    precision: `task` bounds its error by that of the problem's own model as PyTorch runs it by
    default, `tf32` by that of the model with TF32 matrix products and convolutions.
    weights: `mutable` weights change between calls, so that nothing derived from them may be kept
    unless it notices; `frozen` ones do not.
    libraries: whether the work may be left to PyTorch's, cuBLAS' and cuDNN's own kernels.
    hidden_shapes: also verified on another batch size; a candidate may refuse it, not get it wrong.
    inputs: `sound` verifies on values that the problem does not draw as well, wherever its model is
    sound for them; `drawn` stays near to what it draws.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    precision: Literal["task", "tf32"] = "task"
    weights: Literal["mutable", "frozen"] = "mutable"
    libraries: Literal["allowed", "forbidden"] = "allowed"
    hidden_shapes: bool = True
    inputs: Literal["sound", "drawn"] = "sound"

    @model_validator(mode="before")
    @classmethod
    def _as_it_was(cls, given: object) -> object:
        """A whole policy that says nothing of inputs was written when they were near to drawn."""
        rest = cls.model_fields.keys() - {"inputs"}
        if isinstance(given, dict) and given.keys() == rest:
            return {**given, "inputs": "drawn"}
        return given


def read_policy(given: object) -> object:
    """``NAME=VALUE`` texts as a policy; any other value is returned unchanged.

    InputError for an unknown name or value.
    """
    if not isinstance(given, list | tuple):
        return given
    fields = Policy.model_fields
    values: dict[str, object] = {"inputs": "sound"}
    for pair in map(str, given):
        name, found, text = pair.partition("=")
        if not found or name not in fields:
            known = ", ".join(f"{name}=..." for name in fields)
            raise InputError(f"--policy {pair!r}: write one of {known}")
        values[name] = text
    try:
        return Policy.model_validate(values)
    except ValueError:
        raise InputError(
            f"--policy {' '.join(map(str, given))}: precision is task or tf32, weights mutable or "
            "frozen, libraries allowed or forbidden, hidden_shapes true or false, inputs sound or "
            "drawn"
        ) from None
