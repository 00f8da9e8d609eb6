"""The resources that judging one task needs: a GPU, folders, the problem, and processes."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from mcts.domain import Candidate, Hardware, Isolation, KernelTask
from mcts.errors import InputError, RooftreeError, UnfitTask, WorldError
from mcts.ports import StageObserver
from mcts.search.seeding import seed_from
from profilers.children.fork_server import ForkServer
from profilers.children.processes import ChildGone, probe_isolation
from profilers.children.protocol import RequestRefused
from profilers.children.scratch import ScratchFolder
from profilers.hardware.device import Gpu, find_gpu
from profilers.hardware.locks import GpuLock
from profilers.kernelbench.judge.ahead import DrawsAhead
from profilers.kernelbench.judge.building import BuiltModule, CandidateBuilder
from profilers.kernelbench.judge.clients import FORK_SERVER, ORACLE, BaselineClient, WorkerClient
from profilers.kernelbench.judge.deadline import UNBOUNDED, VerdictDeadline
from profilers.kernelbench.judge.problem import OpenProblem
from profilers.kernelbench.judge.rounds import VerificationRound, rounds_of
from profilers.kernelbench.judge.session import CandidateSession
from profilers.kernelbench.judge.settings import KernelBenchSettings
from profilers.measuring.cores import TimingCores, cores_beside
from profilers.measuring.rates import rates_of
from profilers.roofline.floors import speed_of_light_us
from profilers.sandbox import Jail

_HOST_BYTES = 4 * 2**30


@dataclass(frozen=True, slots=True)
class Processes:
    """The modules that the oracle and the candidates run as, and what they import."""

    oracle: str = ORACLE
    fork_server: str = FORK_SERVER
    needs: str = "torch"


class KernelBenchWorkplace:
    """A GPU, folders, the open problem and processes for one task.

    `device` is an ordinal, or "cpu". `no_ceilings` says why `hardware` has no ceilings; None if it
    has some, or there is no GPU.
    """

    builder: CandidateBuilder
    problem: OpenProblem
    ahead: DrawsAhead
    least_us: float | None

    def __init__(
        self,
        task: KernelTask,
        *,
        device: int | str,
        settings: KernelBenchSettings,
        processes: Processes,
        say: Callable[[str], None],
    ) -> None:
        self.task, self.device, self.settings = task, device, settings
        self.gpu: Gpu | None = None
        self.hardware = Hardware(name="CPU (PyTorch)")
        self.no_ceilings: str | None = None
        self._cores = TimingCores()
        self._processes, self._say = processes, say
        self._closers: list[Callable[[], None]] = []

    def open(self, make_builder: Callable[[], CandidateBuilder]) -> None:
        """Take the GPU, start the processes, check the task at the gate.

        InputError if the task is faulty, torch is missing or nothing would isolate candidates;
        WorldError if the GPU is taken or does not answer. `close` ends what was opened by then.
        """
        self._check_needs()
        self.isolation = self._isolation()
        self._take_gpu()
        scratch = ScratchFolder()
        self.at_close(scratch.close)
        self.folder = scratch.path
        self._say("starting PyTorch in the reference's process and in the candidates'")
        self.fork_server = ForkServer(self._processes.fork_server, cwd=self.folder)
        self.at_close(self.fork_server.close)
        self.builder = make_builder()
        self.problem = self._open_problem()
        self.ahead = DrawsAhead(self.problem, self.rounds)
        self.at_close(self.ahead.end)
        self.least_us = self._least_us()

    def close(self) -> None:
        """End all child processes, remove the files and give the GPU back; idempotent."""
        while self._closers:
            self._closers.pop()()

    def at_close(self, do: Callable[[], None]) -> None:
        """Have `close` call `do`, before it closes what was opened earlier."""
        self._closers.append(do)

    @contextmanager
    def session(
        self,
        candidate: Candidate,
        settings: KernelBenchSettings,
        *,
        call_s: float,
        tell: StageObserver,
        deadline: VerdictDeadline = UNBOUNDED,
    ) -> Iterator[CandidateSession]:
        """A candidate's build and a fresh worker for it, with the baseline in another beside it.

        The candidate's processes are ended at the `deadline`.
        """
        oracle = self.problem.oracle
        tell(candidate.id, "compiling")
        with self._baseline_meanwhile(settings) as baseline, ExitStack() as held:
            with self.ahead.meanwhile():
                built = self.builder.build(candidate, deadline)
                if not self.problem.is_roomy:
                    self.ahead.stop()
                tell(candidate.id, "verifying")
                worker = held.enter_context(self.worker(built, settings, deadline))
                loaded = baseline()
            yield CandidateSession(
                oracle=oracle,
                worker=worker,
                baseline=loaded,
                layout=self.problem.layout,
                settings=settings,
                tolerance=self.task.tolerance,
                call_s=call_s,
                build=built.build,
                source=built.source,
                text=built.text,
                environment=built.environment,
                cores=self._cores,
                ahead=self.ahead,
                frozen_weights=self.frozen_weights,
                tf32=self.task.policy.precision == "tf32",
            )

    def rounds(self, *, beyond: bool = True) -> list[VerificationRound]:
        """What a candidate is verified in, `beyond` the drawn range as well where that is sound."""
        return rounds_of(
            mutable_weights=not self.frozen_weights,
            hidden_shapes=self.task.policy.hidden_shapes,
            variations=self.problem.variations,
            beyond=beyond,
        )

    def load(self, session: CandidateSession, candidate: Candidate) -> None:
        """Construct the candidate's model, under a seed of its own."""
        session.load(init=self.problem.facts["init"], seed=seed_from("construct", candidate.id))

    @contextmanager
    def worker(
        self,
        built: BuiltModule,
        settings: KernelBenchSettings,
        deadline: VerdictDeadline = UNBOUNDED,
    ) -> Iterator[WorkerClient]:
        """A fresh process with the device and the shared memory. WorldError if there is none."""
        worker = WorkerClient(
            self.fork_server, jail=self.jail(built), cwd=built.folder, deadline=deadline
        )
        try:
            try:
                worker.start(
                    self.problem.oracle,
                    device=self.device,
                    reserve_bytes=self.problem.layout.process_bytes,
                    in_turns=self.problem.layout.in_turns,
                    timeout_s=settings.start_deadline_s,
                )
            except (ChildGone, RequestRefused) as error:
                raise WorldError(
                    f"a worker for PyTorch candidates did not start: {error}"
                ) from None
            with deadline.guard(worker):
                yield worker
        finally:
            worker.kill()

    def jail(self, built: BuiltModule, *, readable: tuple[Path, ...] = ()) -> Jail:
        """What a process with this candidate may use."""
        return Jail(
            gpu=self.gpu is not None,
            writable=(built.folder,),
            readable=(built.source.parent, *self.settings.readable, *readable),
        )

    @property
    def frozen_weights(self) -> bool:
        """Whether no weight may change between calls."""
        return self.task.policy.weights == "frozen" or not self.problem.facts["parameters"]

    def gpu_may_be_at_fault(self) -> bool:
        """Ask the GPU from a fresh process. WorldError if it does not answer.

        Returns whether the oracle, which no candidate can reach, was lost as well.
        """
        probe_worker = WorkerClient(
            self.fork_server, jail=Jail(gpu=self.gpu is not None), cwd=self.folder
        )
        try:
            probe_worker.ask("probe", device=self.device, timeout_s=60.0)
        except (ChildGone, RequestRefused) as error:
            raise WorldError(f"the GPU does not answer any more: {error}") from None
        finally:
            probe_worker.kill()
        return not self.problem.alive

    def _check_needs(self) -> None:
        if importlib.util.find_spec(self._processes.needs) is None:
            raise InputError(
                "PyTorch candidates need PyTorch in this environment: pip install 'rooftree[torch]'"
            )

    def _isolation(self) -> Isolation:
        found = probe_isolation()
        if found.level == "process" and not self.settings.unsafe:
            lacking = "; ".join(f"{part}: {why}" for part, why in found.missing.items())
            raise InputError(
                f"nothing on this machine would isolate a candidate ({lacking}): candidates are "
                "programs that nobody has read; give --unsafe to run them all the same"
            )
        return found

    def _take_gpu(self) -> None:
        if not isinstance(self.device, int):
            return
        self.gpu = find_gpu(self.device, compiler=False)
        if not self.settings.gpu_is_held:
            lock = GpuLock(self.gpu.uuid)
            lock.acquire(wait_s=self.settings.lock_wait_s, on_wait=self._say)
            self.at_close(lock.release)
        self.hardware = self.gpu.hardware
        self._cores = TimingCores(cores_beside(self.gpu.ordinal, self.gpu.visible))
        try:
            ceilings = rates_of(self.gpu, on_progress=self._say).ceilings
        except RooftreeError as error:  # candidates are judged without ceilings just as well
            self.no_ceilings = str(error)
        else:
            self.hardware = self.hardware.model_copy(update={"ceilings": ceilings})

    def _least_us(self) -> float | None:
        """The least time of a call by the roofline; None where there is nothing to estimate it by.

        It is asked for here, as counting gives memory back, which slows what is timed behind it.
        """
        if self.gpu is None:
            return None
        try:
            return speed_of_light_us(self.problem.least_work(), self.hardware.ceilings)
        except (RooftreeError, RequestRefused):  # the profile says why
            return None

    def _open_problem(self) -> OpenProblem:
        path = self.folder / "problem.py"
        path.write_text(self.task.reference or "", encoding="utf-8")
        memory = self.gpu.hardware.memory_bytes if self.gpu is not None else None
        problem = OpenProblem(
            task=self.task,
            path=path,
            module=self._processes.oracle,
            device=self.device,
            settings=self.settings,
            memory_bytes=memory or _HOST_BYTES,
            say=self._say,
        )
        self.at_close(problem.close)
        try:
            problem.start()
            self._say(f"the problem's model runs: {problem.sizes()}")
            problem.pass_gate()
            problem.try_variations()
            problem.measure_floor(self.hardware.l2_bytes or 0, self.hardware.ceilings)
        except RequestRefused as refused:
            size = f" with {memory / 2**30:.0f} GiB" if memory else ""
            raise UnfitTask(
                f"{self.task.name} is too large for {self.hardware.name}{size}: {refused}"
            ) from None
        return problem

    @contextmanager
    def _baseline_meanwhile(
        self, settings: KernelBenchSettings
    ) -> Iterator[Callable[[], BaselineClient]]:
        """Start the baseline in a fresh worker and load it, while the candidate is built; what is
        yielded waits for it, and raises what went wrong.
        """
        own = self.builder.build(self.task.baseline)
        weights = self.problem.oracle.ask("weights", seed=None)["weights"]
        with ExitStack() as held:

            def start() -> BaselineClient:
                baseline = BaselineClient(held.enter_context(self.worker(own, settings)))
                baseline.ask(
                    "load", path=str(own.source), init=self.problem.facts["init"],
                    weights=weights, seed=0, environment=own.environment,
                    module="baseline_model", timeout_s=settings.load_deadline_s,
                )  # fmt: skip
                return baseline

            with ThreadPoolExecutor(1, "rooftree-baseline") as pool:
                yield pool.submit(start).result
