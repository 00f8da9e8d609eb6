"""The task's reference: computes the expected outputs in float64."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mcts.domain import Buffer, KernelTask, Workload
from mcts.errors import InputError
from profilers.cuda.drawing import Array


class NumpyReference:
    """The task's reference: ``reference(**inputs)`` over float64 arrays."""

    def __init__(self, task: KernelTask) -> None:
        """Execute the reference's source; InputError if it is no usable Python."""
        self._task = task
        namespace: dict[str, Any] = {"__name__": f"reference of {task.name}"}
        try:
            exec(compile(task.reference or "", "reference.py", "exec"), namespace)
        except (Exception, SystemExit) as error:
            raise InputError(
                f"the reference of {task.name} cannot be loaded: {type(error).__name__}: {error}"
            ) from error
        self._function = namespace.get("reference")
        if not callable(self._function):
            raise InputError(f"the reference of {task.name} defines no function `reference`")

    def __call__(self, inputs: Mapping[str, Array], workload: Workload) -> dict[str, Array]:
        """Expected outputs by name, as float64; InputError if names or shapes are not right."""
        try:
            result = self._function(**inputs)  # type: ignore[misc]
        except (Exception, SystemExit) as error:
            raise InputError(
                f"the reference of {self._task.name} failed on workload {workload.name!r}: "
                f"{type(error).__name__}: {error}"
            ) from error
        outputs = self._task.outputs
        if not isinstance(result, Mapping):
            result = {outputs[0].name: result} if len(outputs) == 1 else {}
        missing = [buffer.name for buffer in outputs if buffer.name not in result]
        if missing:
            raise InputError(
                f"the reference of {self._task.name} returned no {missing[0]!r}; with several "
                "outputs return a dict of arrays"
            )
        return {buffer.name: self._checked(buffer, result, workload) for buffer in outputs}

    def _checked(self, buffer: Buffer, result: Mapping[str, Any], workload: Workload) -> Array:
        try:
            array = np.asarray(result[buffer.name], dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"the reference of {self._task.name} returned a {buffer.name!r} that is no array "
                f"of numbers on workload {workload.name!r}: {error}"
            ) from None
        extents = buffer.extents(workload.shape)
        if array.shape != extents:
            raise InputError(
                f"the reference of {self._task.name} returned {buffer.name!r} with shape "
                f"{array.shape} on workload {workload.name!r}; the task says {extents}"
            )
        return array
