"""The baseline as it is timed: at fresh addresses, and a worker's outputs against its own.

A candidate gets its inputs at fresh addresses too (`scatter`): both sides of a pair are alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from profilers.children.protocol import RequestRefused
from profilers.kernelbench.oracle.baseline import Baseline
from profilers.kernelbench.oracle.comparison import Errors
from profilers.kernelbench.oracle.draws import Draw
from profilers.kernelbench.oracle.honest import Reference
from profilers.kernelbench.oracle.judgement import compare_timed
from profilers.kernelbench.oracle.shared_slabs import slab_bytes
from profilers.kernelbench.shared.exchange import Slab, room_for
from profilers.kernelbench.shared.scatter import Scatter
from profilers.kernelbench.shared.timed_runs import device_name
from profilers.kernelbench.shared.trees import mapped

_SCATTERED_LIMIT = 2**30


class TimedCalls:
    """Calls of the baseline: the inputs that are prepared for them, and what they returned."""

    def __init__(self, baseline: Baseline, reference: Reference, device: int | str) -> None:
        import torch

        self._baseline = baseline
        self._reference = reference
        self._scatter = Scatter(torch.device(device_name(device)))
        self._pads: list[Any] = []

    def prepare(self, draws: Sequence[Draw]) -> None:
        """Have the baseline ready to run on each draw."""
        self._pads = []
        self._baseline.prepare([self._scattered(draw.inputs) for draw in draws])

    def drop(self) -> None:
        """Let go of prepared inputs and of outputs."""
        self._baseline.drop()
        self._pads = []

    def compare(
        self,
        claims: Sequence[Any],
        slab: Slab,
        draws: Sequence[Draw],
        *,
        relative: float,
        absolute: float,
    ) -> list[dict[str, Any]]:
        """A worker's outputs with those of the baseline's last run, call by call.

        Both sides err, so that twice the tolerance is allowed between them. Refusal "internal"
        where the last run was of other calls than these.
        """
        if len(claims) != len(draws):
            text = f"outputs of {len(claims)} calls for {len(draws)} that were asked for"
            problem = {"cheat": "forged_result", "evidence": text}
            return [{"problems": [problem], "structure": text, "outputs": []}]
        shots = self._baseline.outputs()
        if len(shots) != len(draws):
            raise RequestRefused(
                "internal", f"the baseline ran {len(shots)} of these {len(draws)} calls"
            )
        errors = self._errors(draws[0])
        return [
            compare_timed(claim, slab, output, errors, relative=2 * relative, absolute=2 * absolute)
            for claim, output in zip(claims, shots, strict=True)
        ]

    def _errors(self, draw: Draw) -> tuple[Errors, ...]:
        """Those of an honest run: found once, for the first draw that is compared."""
        if self._baseline.errors is None:
            known = draw.expectation or self._reference.expect(draw.inputs)
            self._baseline.errors = tuple(leaf.honest for leaf in known.leaves)
        return self._baseline.errors

    def _scattered(self, inputs: list[Any]) -> list[Any]:
        """Copies at fresh addresses, as a candidate gets its inputs; large ones as they are."""
        if slab_bytes(inputs) > _SCATTERED_LIMIT:
            return inputs

        def copied(tensor: Any) -> Any:
            self._pads.append(self._scatter.pad(room_for(tensor)))
            return tensor.clone()

        found: list[Any] = mapped(inputs, copied)
        return found
