"""The problem's own model, run in the task's precision, and in float64 for the expected values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

from profilers.kernelbench.oracle.comparison import Errors, ExpectedLeaf, half_ulp_at, scale_of
from profilers.kernelbench.oracle.model_state import (
    precision,
    restored_state,
    storage_of,
    tf32_weights,
    to_tf32,
    widened,
    wider,
    wider_dtype,
)
from profilers.kernelbench.oracle.slicing import BatchPlan, plan_batch, rows_of
from profilers.kernelbench.oracle.steps import steps_of
from profilers.kernelbench.shared.problem import ProblemFault, ProblemFile, seed_all
from profilers.kernelbench.shared.trees import held_bytes, mapped, tensors

ExpectedPrecision = Literal["float64", "float32"]
_WIDE_LIMIT = 2 * 2**30
"""Up to so many bytes, expected values are kept in float64; more are rounded to float32."""
_TEMPORARIES = 4
"""Estimate of float64 copies of inputs and outputs that a model holds at once."""
_SAME_ULPS = 8
_IMPLAUSIBLE = 0.02
_RUN_SEED = 20


@dataclass(frozen=True, slots=True)
class Expectation:
    """The expected result for one draw: a leaf for each tensor of `output`'s structure.

    `oracle` is the precision in which it was computed. `output` is the honest run's result, its
    tensors replaced by empty ones.
    """

    leaves: tuple[ExpectedLeaf, ...]
    output: Any
    oracle: ExpectedPrecision

    @property
    def bytes(self) -> int:
        return sum(held_bytes(leaf.values) for leaf in self.leaves)


class ReferenceModel:
    """The problem's model. All runs are under no_grad, with the model in the mode it came in.

    Every run starts from the same state: buffers and plain tensor attributes that a run changes
    (running statistics, hidden states) are restored. Raises ProblemFault if the model fails;
    torch's OutOfMemoryError passes through.

    `room` returns how many bytes may be allocated at once; None if that is unknown.
    """

    def __init__(
        self, problem: ProblemFile, model: Any, *, tf32: bool, room: Callable[[], int | None]
    ) -> None:
        self.model = model
        self._problem = problem
        self._tf32 = tf32
        self._room = room
        self._plan: BatchPlan | Literal["unknown"] | None = "unknown"
        self.changes_inputs = False

    def run(self, inputs: Any, *, seed: int = _RUN_SEED, restore: bool = True) -> Any:
        """The output in the task's precision; random numbers the model draws follow `seed`."""
        import torch

        if self.changes_inputs:
            inputs = mapped(inputs, torch.clone)
        with precision(tf32=self._tf32):
            return self._call(inputs, seed=seed, restore=restore)

    def steps(self, inputs: Any) -> list[dict[str, Any]]:
        """The operations of the model alone, as `steps_of` tells them."""
        import torch

        if self.changes_inputs:
            inputs = mapped(inputs, torch.clone)
        seed_all(_RUN_SEED)
        with (
            torch.no_grad(),
            precision(tf32=self._tf32),
            self._problem.faults_while("forward"),
            restored_state(self.model),
        ):
            return steps_of(lambda: self.model(*inputs))

    def callable(self, model: Any) -> Callable[..., Any]:
        """`model` as the baseline calls it: honest precision, inputs protected."""
        import torch

        def call(*inputs: Any) -> Any:
            if self.changes_inputs:
                inputs = mapped(inputs, torch.clone)
            return model(*inputs)

        return call

    def expect(self, inputs: Any, *, conditioned: bool = False, alike: bool = False) -> Expectation:
        """The expected outputs for `inputs`, and the errors of the honest run.

        If `conditioned`, what the last bit of the inputs changes counts as an error of that run:
        where a model is sensitive, no other way to compute it is closer. `alike` is kept in
        what is expected.
        """
        honest = self.run(inputs)
        if self._tf32:
            honest = self._as_tf32(inputs)
        wide = self._wide(inputs, honest)
        oracle: ExpectedPrecision = "float32" if wide is None else "float64"
        truth = dict(tensors(honest if wide is None else wide))
        leaves = tuple(
            _leaf(path, tensor, truth.pop(path), oracle, alike=alike)
            for path, tensor in tensors(honest)
        )
        if conditioned and wide is not None:
            leaves = self._conditioned(leaves, inputs, honest)
        implausible = any(
            leaf.honest.rms > _IMPLAUSIBLE * leaf.scale and leaf.dtype.itemsize >= 4
            for leaf in leaves
            if leaf.dtype.is_floating_point
        )
        if implausible and self._plan not in (None, "unknown"):
            self._plan = None  # the rows are not independent after all
            del leaves, wide, truth, honest
            return self.expect(inputs, conditioned=conditioned, alike=alike)
        return Expectation(leaves=leaves, output=mapped(honest, _emptied), oracle=oracle)

    def _conditioned(
        self, leaves: tuple[ExpectedLeaf, ...], inputs: Any, honest: Any
    ) -> tuple[ExpectedLeaf, ...]:
        """`leaves`, with at least the error that the last bits of `inputs` make in each."""
        import torch

        try:
            moved = self._wide(_last_bits_changed(inputs), honest)
        except torch.OutOfMemoryError:
            release_memory()
            return leaves
        found = {} if moved is None else dict(tensors(moved))
        return tuple(
            replace(leaf, honest=leaf.honest.at_least(Errors.of(found[path], leaf.values)))
            if path in found and leaf.dtype.is_floating_point
            else leaf
            for (path, _), leaf in zip(tensors(honest), leaves, strict=True)
        )

    def _as_tf32(self, inputs: Any) -> Any:
        """A run on inputs and weights as tensor cores round them to TF32.

        Libraries that may use TF32 choose by size and shape whether they do; this gives the error
        of a candidate that always does.
        """
        with tf32_weights(self.model):
            return self.run(mapped(inputs, to_tf32))

    def note_changed_inputs(self, inputs: Any) -> None:
        """Note whether the model changes its inputs, from a run on `inputs`."""
        before = [tensor._version for _, tensor in tensors(inputs)]
        self._call(inputs, seed=_RUN_SEED, restore=True)
        self.changes_inputs = before != [tensor._version for _, tensor in tensors(inputs)]

    @contextmanager
    def settled(self) -> Iterator[None]:
        """Restore the model's state at the end."""
        with restored_state(self.model):
            yield

    @contextmanager
    def faults_while(self, doing: str) -> Iterator[None]:
        """Turn what the problem's code raises inside into a ProblemFault."""
        with self._problem.faults_while(doing):
            yield

    def _call(self, inputs: Any, *, seed: int, restore: bool) -> Any:
        import torch

        seed_all(seed)
        with torch.no_grad(), self._problem.faults_while("forward"):
            if not restore:
                return mapped(self.model(*inputs), torch.clone)
            with restored_state(self.model) as kept:
                output = self.model(*inputs)
                shared = kept | {storage_of(tensor) for _, tensor in tensors(inputs)}
                return mapped(
                    output, lambda one: one.clone() if storage_of(one) in shared else one.detach()
                )

    def _wide(self, inputs: Any, honest: Any) -> Any | None:
        """The output in float64, computed whole or by parts of the batch; None if it cannot be.

        Very large outputs are rounded to float32.
        """
        import torch

        room = self._room()
        need = 2 * _TEMPORARIES * (held_bytes(inputs) + held_bytes(honest))
        plan = self._batch_plan(inputs, honest) if room is not None and need > room else None
        try:
            if plan is None:
                try:
                    return self._checked(self._double(inputs), honest)
                except torch.OutOfMemoryError:
                    release_memory()
                    plan = self._batch_plan(inputs, honest)
            if plan is None:
                return None
            share = min(1.0, (room or need) / need) / 2
            rows = max(1, int(plan.rows * share))
            return self._by_parts(inputs, honest, plan, rows)
        except (ProblemFault, torch.OutOfMemoryError) as error:
            if isinstance(error, ProblemFault) and error.sticky:
                raise
            release_memory()
            return None

    def _double(self, inputs: Any) -> Any:
        """One run with all floats in float64."""
        with widened(self.model):
            return self._call(mapped(inputs, wider), seed=_RUN_SEED, restore=True)

    def _checked(self, wide: Any, honest: Any) -> Any | None:
        """`wide`, rounded if it is very large; None if it is not float64 throughout."""
        found = dict(tensors(wide))
        total = held_bytes(wide)
        for path, tensor in tensors(honest):
            other = found.get(path)
            if other is None or other.shape != tensor.shape:
                return None
            if tensor.is_floating_point() != other.is_floating_point():
                return None
            if other.dtype.is_floating_point and other.dtype.itemsize < 8:
                return None
        return mapped(wide, _rounded) if total > _WIDE_LIMIT else wide

    def _batch_plan(self, inputs: Any, honest: Any) -> BatchPlan | None:
        if self._plan == "unknown":
            self._plan = plan_batch(self._double, inputs, honest)
        return self._plan

    def _by_parts(self, inputs: Any, honest: Any, plan: BatchPlan, rows: int) -> Any | None:
        import torch

        total = 2 * held_bytes(honest)

        def room(tensor: Any) -> Any:
            narrow = total > _WIDE_LIMIT and tensor.dtype.itemsize <= 4
            floats = torch.float32 if narrow else torch.float64
            dtype = floats if tensor.is_floating_point() else wider_dtype(tensor.dtype)
            return torch.empty(tensor.shape, dtype=dtype, device=tensor.device)

        whole = mapped(honest, room)
        begin = 0
        while begin < plan.rows:
            end = min(begin + rows, plan.rows)
            try:
                part = self._double(rows_of(inputs, plan, begin, end))
                if self._checked(part, rows_of(honest, plan.for_output(), begin, end)) is None:
                    return None
            except torch.OutOfMemoryError:
                if rows == 1:
                    raise
                rows = max(1, rows // 2)
                release_memory()
                continue
            for (_, into), (_, tensor) in zip(tensors(whole), tensors(part), strict=True):
                into[begin:end].copy_(tensor)
            begin = end
        return whole


def _leaf(
    path: str, honest: Any, truth: Any, oracle: ExpectedPrecision, *, alike: bool
) -> ExpectedLeaf:
    """The expected leaf, with infinities for elements beyond the output dtype's range."""
    if honest.is_floating_point() and honest.dtype.itemsize < truth.dtype.itemsize:
        beyond = honest.isinf() & truth.isfinite() & truth.to(honest.dtype).isinf()
        if bool(beyond.any()):
            truth = truth.masked_scatter(beyond, honest[beyond].to(truth.dtype))
    scale = scale_of(truth)
    errors = Errors.of(honest, truth)
    if oracle == "float32" and (honest.is_floating_point() or honest.is_complex()):
        # There is no better result to compare with: assume an error of a few units in the last
        # place.
        guess = 2 * _SAME_ULPS * half_ulp_at(scale, honest.dtype)
        errors = Errors(rms=guess, max=guess, regions=())
    return ExpectedLeaf(
        path=f"output{path}",
        values=truth,
        dtype=honest.dtype,
        honest=errors,
        scale=scale,
        alike=alike,
    )


def _last_bits_changed(inputs: Any) -> Any:
    """`inputs`, each number as it is or off by a unit in the last place."""
    import torch

    def change(tensor: Any) -> Any:
        if not tensor.is_floating_point():
            return tensor
        factors = torch.randint(-1, 2, tensor.shape, dtype=tensor.dtype, device=tensor.device)
        return factors.mul_(torch.finfo(tensor.dtype).eps).add_(1).mul_(tensor)

    return mapped(inputs, change)


def _rounded(tensor: Any) -> Any:
    return tensor.float() if tensor.is_floating_point() else tensor


def _emptied(tensor: Any) -> Any:
    import torch

    return torch.empty(tensor.shape, dtype=tensor.dtype, device="meta")


def release_memory() -> None:
    """Return unused memory to the device."""
    import gc

    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
