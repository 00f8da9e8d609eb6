"""A problem open in the oracle: its sizes, the shared buffers' layout, the gate, variations."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcts.domain import Ceilings, KernelTask, ModelStep, Work
from mcts.errors import InputError, UnfairTask, UnfitTask
from profilers.children.protocol import RequestRefused
from profilers.kernelbench.judge.clients import OracleClient
from profilers.kernelbench.judge.settings import KernelBenchSettings
from profilers.kernelbench.shared.shared_memory import ALIGNMENT, aligned
from profilers.kernelbench.shared.variations import KINDS, NEAR, PATTERNS, VALUES, beyond

_WEIGHT_ROOM = 1.05
_SMALL = 64 * 2**20
"""Up to so many bytes of inputs and outputs, kinds of rows are tried one by one; else together."""
_SOUND = {"float64": 1e-3, "float32": 1e-3, "float16": 0.02, "bfloat16": 0.05}
_TF32 = 5.0
"""How far, against their scale, a model's outputs may be off where it still is said to be sound;
so many times as far with TF32."""
_PADS = 2**28
_COPIES = 8
"""How many copies there are of each call's inputs and outputs, in all processes and buffers."""
_AHEAD = 1 / 12
"""The part of the memory that is planned with for what verifications will need."""
_WIDE_COPIES = 16
"""Copies of a call's inputs and outputs that a run in float64 may hold, intermediates included."""
_SIDE_BY_SIDE = 1.5
"""All processes hold the copies of a single call at once up to so many times the memory that is
planned with."""


@dataclass(slots=True)
class OpenProblem:
    """Keeps an oracle for one task, and starts another if it is lost.

    `device` is an ordinal or "cpu". `marks` are the gate's notes; `variations` are the ways
    other than the problem's own in which inputs can be drawn.
    """

    task: KernelTask
    path: Path
    module: str
    device: int | str
    settings: KernelBenchSettings
    memory_bytes: int
    say: Callable[[str], None]
    marks: tuple[str, ...] = ()
    variations: tuple[str, ...] = NEAR
    facts: dict[str, Any] = field(default_factory=dict)
    floor_us: float = 0.0
    layout: Layout = field(init=False)
    _oracle: OracleClient | None = None
    _work: Work | None = None
    _steps: tuple[ModelStep, ...] | None = None

    @property
    def oracle(self) -> OracleClient:
        """The oracle, started anew if it was lost. WorldError if that fails."""
        if self._oracle is not None and not self._oracle.alive:
            self.say("the reference's process is gone: starting another")
            self.close()
        if self._oracle is None:
            self.start()
        assert self._oracle is not None
        return self._oracle

    @property
    def alive(self) -> bool:
        return self.running is not None

    @property
    def running(self) -> OracleClient | None:
        """The oracle, unless it was lost."""
        return self._oracle if self._oracle is not None and self._oracle.alive else None

    def start(self) -> None:
        """Start the oracle, run the model once, and make the memory shared with candidates."""
        oracle = self._oracle = OracleClient(self.module, cwd=self.path.parent, device=self.device)
        policy = self.task.policy.model_dump(mode="json")
        facts = self.facts = oracle.start(self.path, policy, secrets.randbits(63))
        self.layout = Layout.plan(
            weights=round(_WEIGHT_ROOM * facts["weight_bytes"]),
            inputs=facts["input_bytes"],
            outputs=facts["output_bytes"],
            most_calls=self.settings.calls,
            memory=int(self.settings.memory_share * self.memory_bytes),
        )
        layout = self.layout
        oracle.make_buffers(layout.inputs_bytes, layout.outputs_bytes, in_turns=layout.in_turns)
        if self.settings.compiled:
            self._compile(oracle)

    def pass_gate(self) -> None:
        """UnfairTask for a task that proves nothing, unless the settings say `ungated`."""
        self.say("the task gate: does the output depend on every input and weight?")
        report = self.oracle.ask("gate")
        refusals = tuple(str(text) for text in report["refusals"])
        if refusals and not self.settings.ungated:
            raise UnfairTask(
                f"task {self.task.name} is no fair task: {'; '.join(refusals)} "
                "(--ungated goes on all the same, and marks every result)"
            )
        self.marks = (*refusals, *(str(text) for text in report["marks"]))
        for mark in self.marks:
            self.say(f"marked: {mark}")

    def try_variations(self) -> None:
        """Keep the variations that the model accepts; one may even fault the device.

        Kinds of rows that `get_inputs` does not return are halved until the model is sound for
        all that are together.
        """
        self.variations = tuple(name for name in NEAR if self._accepts(name))
        if self.task.policy.inputs == "drawn":
            return
        self.say("trying the problem's model on inputs that it does not draw")
        small = self.facts["input_bytes"] + self.facts["output_bytes"] <= _SMALL
        waiting = [(kind,) for kind in KINDS] if small else [VALUES, PATTERNS]
        while waiting:
            kinds = waiting.pop(0)
            if self._is_sound(beyond(kinds)):
                self.variations += (beyond(kinds),)
            elif len(kinds) > 1:
                half = len(kinds) // 2
                waiting += [kinds[:half], kinds[half:]]

    def _accepts(self, variation: str) -> bool:
        try:
            self._draw(variation)
            self.oracle.ask("forget", ids=["variation"])
        except InputError:
            return False
        return True

    def _is_sound(self, variation: str) -> bool:
        """Whether the model's outputs are finite, and hardly differ from those in float64."""
        try:
            if self._draw(variation) is not True:
                return False
            found = self.oracle.ask("expect", id="variation")
            self.oracle.ask("forget", ids=["variation"])
        except (InputError, RequestRefused):
            return False
        if found["oracle"] != "float64" or any(found["honest_wrong"]):
            return False
        factor = _TF32 if self.task.policy.precision == "tf32" else 1.0
        limits = (
            _SOUND.get(leaf["dtype"].removeprefix("torch."), 0.0) for leaf in found["outputs"]
        )
        rows = zip(limits, found["honest_rms"], found["scale_rms"], strict=True)
        return all(rms <= factor * limit * scale for limit, rms, scale in rows)

    def _draw(self, variation: str) -> object:
        """True, or why there are no such inputs."""
        drawn = self.oracle.ask(
            "draw", id="variation", seed=secrets.randbits(63), variation=variation,
            at=self.layout.input_at(0),
        )  # fmt: skip
        return drawn["available"]

    def measure_floor(self, l2_bytes: int, ceilings: Ceilings | None) -> None:
        """Set the least time: every input and weight read, every output written, at the copy rate.

        What the L2 may hold of both is not counted. The rate is the larger of the device's ceiling,
        if that is known, and of what a copy takes now, as little memory may be left for it.
        """
        rate = self.oracle.ask("ceilings")["copy_gb_per_s"]
        if rate is not None and ceilings is not None:
            rate = max(rate, ceilings.copy_gb_per_s)
        names = ("input_bytes", "output_bytes", "weight_bytes")
        moved = sum(self.facts[name] for name in names) - 2 * l2_bytes
        self.floor_us = 0.0 if rate is None else max(0, moved) / rate / 1e3

    @property
    def draws_ahead(self) -> int:
        """How many draws with their expected results there is memory for, beside all else."""
        each = self.facts["input_bytes"] + 4 * self.facts["output_bytes"]  # halves in float64
        room = int(_AHEAD * self.settings.memory_share * self.memory_bytes)
        return 0 if self.layout.in_turns else room // max(1, each)

    @property
    def is_roomy(self) -> bool:
        """Whether the reference may work in float64 while workers take their memory."""
        layout = self.layout
        shared = layout.inputs_bytes + layout.outputs_bytes
        wide = _WIDE_COPIES * (layout.inputs + layout.outputs)
        return 2 * layout.process_bytes + shared + wide <= self.memory_bytes / 2

    def least_work(self) -> Work:
        """The work that the task declares, or the least work of a call of the model."""
        if self._work is None:
            self._work = Work.of(self.task)
        if self._work is None:
            told = self.oracle.ask("work", seed=secrets.randbits(63))
            self._work = Work(**{name: told[name] for name in Work.model_fields})
        return self._work

    def steps(self) -> tuple[ModelStep, ...]:
        """The operations of a call of the model; none where they cannot be recorded."""
        if self._steps is None:
            told = self.oracle.ask("steps", seed=secrets.randbits(63))
            self._steps = tuple(map(ModelStep.model_validate, told["steps"]))
        return self._steps

    def sizes(self) -> str:
        """Sizes of inputs, outputs and weights in words."""
        names = ("input", "output", "weight")
        return ", ".join(f"{name}s {self.facts[f'{name}_bytes'] / 2**20:.4g} MiB" for name in names)

    def close(self) -> None:
        """End the process; idempotent."""
        if self._oracle is not None:
            self._oracle.close()
            self._oracle = None

    def _compile(self, oracle: OracleClient) -> None:
        self.say("compiling the baseline with torch.compile")
        found = oracle.ask("compiled", wanted=True, timeout_s=self.settings.build_deadline_s)
        if not found["available"]:
            raise UnfitTask(f"torch.compile does not take this model: {found['reason']}")


@dataclass(frozen=True, slots=True)
class Layout:
    """Where things lie in the two shared buffers, and how many calls fit.

    The inputs buffer holds the weights, then the inputs of one call after another; the outputs
    buffer the outputs of one call after another, each in a slot of the same size. `weights`,
    `inputs` and `outputs` are sizes in bytes, the latter two per call. `in_turns`: one call nearly
    fills the device, so that a process takes its memory for each block and then gives it back.
    """

    weights: int
    inputs: int
    outputs: int
    calls: int
    in_turns: bool

    @classmethod
    def plan(
        cls, *, weights: int, inputs: int, outputs: int, most_calls: int, memory: int
    ) -> Layout:
        """A layout for as many calls as `memory` bytes hold with all copies, at least one."""
        weights, inputs, outputs = (_slot(size) for size in (weights, inputs, outputs))
        fitting = memory // (_COPIES * (inputs + outputs))
        calls = max(1, min(most_calls, fitting))
        in_turns = _COPIES * (inputs + outputs) > _SIDE_BY_SIDE * memory
        return cls(weights=weights, inputs=inputs, outputs=outputs, calls=calls, in_turns=in_turns)

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
    # Leaves are aligned one by one, and another batch size may pad them differently: leave room.
    return aligned(max(size, 1)) + 64 * ALIGNMENT
