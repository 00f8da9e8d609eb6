"""The judge's clients: of the oracle, which it trusts, and of workers, which it does not."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mcts.domain import Isolation
from mcts.errors import InputError, WorldError
from profilers.children.channel import Channel, ChildGone
from profilers.children.fork_server import ForkServer
from profilers.children.processes import Child
from profilers.children.protocol import RequestRefused
from profilers.kernelbench.judge.deadline import UNBOUNDED, VerdictDeadline
from profilers.sandbox import Jail
from profilers.sandbox.process_tree import descendants

ORACLE = "profilers.kernelbench.oracle.process"
FORK_SERVER = "profilers.kernelbench.worker.fork_server"


class OracleClient:
    """The oracle's process. WorldError if it is lost, InputError for a faulty task.

    Several threads may ask it; one waits for the other's answer.

    Refused with kind "memory" if the device has no room: the problem is too large for it, or a
    candidate has taken what was left.
    """

    def __init__(self, module: str, *, cwd: Path, device: int | str) -> None:
        self._device = device
        self._turn = threading.Lock()
        self._child = Child.module(module, cwd=cwd, descriptors=True)
        self.buffers: tuple[int, int] | None = None
        self.buffer_bytes = (0, 0)

    def ask(self, op: str, *, timeout_s: float = 300.0, **fields: Any) -> dict[str, Any]:
        try:
            with self._turn:
                return self._child.ask({"op": op, **fields}, timeout_s=timeout_s)
        except RequestRefused as refused:
            if refused.kind == "task":
                raise InputError(str(refused)) from None
            if refused.kind == "memory":
                text = f"the reference finds no memory on the device: {refused}"
                raise RequestRefused("memory", text, sticky=refused.sticky) from None
            raise WorldError(f"the reference's process failed: {refused}") from None
        except ChildGone as gone:
            raise WorldError(f"the reference's process was lost: {gone} {gone.output}") from None

    def start(self, problem: Path, policy: Mapping[str, Any], seed: int) -> dict[str, Any]:
        return self.ask(
            "start", device=self._device, problem=str(problem), policy=dict(policy), seed=seed
        )

    def make_buffers(self, inputs: int, outputs: int, *, in_turns: bool) -> None:
        """Have the oracle make the memory that is shared with workers.

        With `in_turns` it gives back what it does not use, as workers do behind each block.
        """
        reply = self.ask("buffers", inputs=inputs, outputs=outputs, in_turns=in_turns)
        first, second = self._child.receive_descriptors(2, timeout_s=30.0)
        self.buffers = (first, second)
        self.buffer_bytes = (reply["inputs"], reply["outputs"])

    @property
    def processes(self) -> tuple[int, ...]:
        """Its process id, without those of what it has started."""
        return (self._child.pid,)

    @property
    def alive(self) -> bool:
        return self._child.alive

    def hang_up(self) -> None:
        """Have it end, without waiting for that; another thread that asks gets a WorldError."""
        self._child.hang_up()

    def close(self) -> None:
        self._child.kill()
        for fd in self.buffers or ():
            os.close(fd)
        self.buffers = None


class WorkerClient:
    """A disposable process with one candidate. RequestRefused and ChildGone are its fault.

    No answer is waited for longer than `deadline` leaves.
    """

    def __init__(
        self,
        fork_server: ForkServer,
        *,
        jail: Jail,
        cwd: Path,
        deadline: VerdictDeadline = UNBOUNDED,
    ) -> None:
        self._deadline = deadline
        self._channel: Channel = fork_server.fork(jail, cwd=cwd)
        self.processes: tuple[int, ...] = (self._channel.pid,)
        """Process ids of the worker and of what guards it, that first from which all descend;
        without those of what the candidate has started.
        """

    @property
    def isolation(self) -> Isolation:
        return self._channel.isolation

    def ask(self, op: str, *, timeout_s: float, **fields: Any) -> dict[str, Any]:
        return self._channel.ask({"op": op, **fields}, timeout_s=self._deadline.cap(timeout_s))

    def hang_up(self) -> None:
        """Have it end, without waiting for that, whoever waits for its answer."""
        self._channel.hang_up()

    def start(
        self,
        oracle: OracleClient,
        *,
        device: int | str,
        reserve_bytes: int,
        in_turns: bool,
        timeout_s: float,
    ) -> None:
        """Take the GPU, reserve memory and map what is shared, before a candidate is loaded.

        With `in_turns` the memory is taken for each block, and given back behind it.
        """
        assert oracle.buffers is not None, "the oracle has made no buffers"
        self._channel.send_descriptors(oracle.buffers)
        inputs, outputs = oracle.buffer_bytes
        told = {
            "op": "start", "device": device, "inputs": inputs, "outputs": outputs,
            "reserve_bytes": reserve_bytes, "in_turns": in_turns,
        }  # fmt: skip
        self._channel.ask(told, timeout_s=timeout_s)  # no candidate is in it yet
        root = self._channel.pid
        self.processes = (root, *descendants(root))

    def kill(self) -> None:
        self._channel.kill()


class BaselineClient:
    """The baseline in a worker of the same kind as a candidate's, and as fresh.

    WorldError if it is lost: its code is trusted. Refused with kind "memory" if
    a candidate beside it has taken the device's memory.
    """

    def __init__(self, worker: WorkerClient) -> None:
        self._worker = worker

    @property
    def processes(self) -> tuple[int, ...]:
        return self._worker.processes

    def ask(self, op: str, *, timeout_s: float, **fields: Any) -> dict[str, Any]:
        try:
            return self._worker.ask(op, timeout_s=timeout_s, **fields)
        except RequestRefused as refused:
            if refused.kind == "memory":
                text = f"the baseline finds no memory on the device beside it: {refused}"
                raise RequestRefused("memory", text, sticky=False) from None
            raise WorldError(f"the baseline failed beside a candidate: {refused}") from None
        except ChildGone as gone:
            raise WorldError(f"the baseline's process was lost: {gone} {gone.output}") from None
