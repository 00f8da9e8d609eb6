"""Where things lie in the two slabs, and how many calls fit.

The inputs slab holds the weights, then the inputs of one call after another; the outputs slab the
outputs of one call after another, each in a slot of the same size.
"""

from __future__ import annotations

from dataclasses import dataclass

ALIGNMENT = 256
_PADS = 2**28
_COPIES = 8
"""Slab, oracle, worker and its twin each hold inputs and outputs of every call, outputs twice."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Sizes in bytes of the weights and of one call's inputs and outputs; `calls` is how many."""

    weights: int
    inputs: int
    outputs: int
    calls: int

    @classmethod
    def plan(
        cls, *, weights: int, inputs: int, outputs: int, most_calls: int, memory: int
    ) -> Layout:
        """As many calls as `memory` bytes hold in all their copies, one at least."""
        weights, inputs, outputs = (_slot(size) for size in (weights, inputs, outputs))
        fitting = memory // (_COPIES * (inputs + outputs))
        calls = max(1, min(most_calls, fitting))
        return cls(weights=weights, inputs=inputs, outputs=outputs, calls=calls)

    @property
    def inputs_bytes(self) -> int:
        return self.weights + self.calls * self.inputs

    @property
    def outputs_bytes(self) -> int:
        """Room for every call's outputs, and for two snapshots of one call."""
        return max(2, self.calls) * self.outputs

    @property
    def process_bytes(self) -> int:
        """What a process needs to run and compare all calls, its weights included.

        Blocks between inputs beside the inputs; outputs, their copies, and what comparing takes.
        """
        pads = min(self.calls * self.inputs, _PADS)
        return self.weights + self.calls * (self.inputs + 5 * self.outputs // 2) + pads

    def input_at(self, call: int) -> int:
        return self.weights + call * self.inputs

    @property
    def late_at(self) -> int:
        """Where the second snapshot of a call's outputs goes."""
        return self.outputs


def _slot(size: int) -> int:
    # Leaves are aligned one by one, and a hidden shape may pad them differently: leave room.
    return -(-max(size, 1) // ALIGNMENT) * ALIGNMENT + 64 * ALIGNMENT
