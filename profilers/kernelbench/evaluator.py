"""The evaluator of PyTorch candidates: a `ModelNew` against a KernelBench problem's `Model`.

Three processes share the work. This one, the judge, never imports torch: it owns seeds, deadlines,
verdicts and an outside clock. The oracle holds the problem's model and knows what is right. The
candidate runs in a worker of its own, jailed, and what it says is a claim.
"""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from mcts.domain import (
    PYTORCH_DIALECTS,
    Candidate,
    Evaluation,
    Hardware,
    Isolation,
    KernelTask,
    Profile,
    is_host_source,
)
from mcts.errors import InputError, WorldError
from mcts.ports import StageObserver
from mcts.seeding import seed_from
from profilers.children.nursery import Nursery
from profilers.children.processes import ChildGone
from profilers.children.scratch import ScratchFolder
from profilers.compiling.building import Failed
from profilers.hardware.device import Gpu, find_gpu
from profilers.hardware.locks import GpuLock
from profilers.kernelbench.building import Builder, BuiltModule
from profilers.kernelbench.clients import NURSERY, ORACLE, Refused, Twin, Worker
from profilers.kernelbench.conclusions import UnderWay, judged, lost, refused, said_no
from profilers.kernelbench.opening import OpenProblem
from profilers.kernelbench.rounds import rounds_of
from profilers.kernelbench.settings import KernelBenchSettings
from profilers.kernelbench.timing import Timer, Times
from profilers.kernelbench.trial import Trial
from profilers.kernelbench.verdicts import Unfaithful
from profilers.kernelbench.verifying import Verifier
from profilers.measuring.energy import Runners
from profilers.measuring.metering import with_energy
from profilers.sandbox import Jail
from profilers.sandbox.probe import probe

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Processes:
    """The modules that the oracle and the candidates run as, and what they import."""

    oracle: str = ORACLE
    nursery: str = NURSERY
    needs: str = "torch"


_TORCH = Processes()
_DEFAULTS = KernelBenchSettings()


class KernelBenchEvaluator:
    """Judges candidates of one `kernelbench` task on one GPU; implements the port `Evaluator`.

    `device` is an ordinal, or "cpu" for PyTorch without a GPU. Constructing it takes the GPU's
    lock, starts the oracle, puts the task through its gate and judges the baseline. InputError
    where the task is faulty, torch is missing or nothing would isolate the candidates; WorldError
    where the GPU is taken or does not answer.
    """

    name = "gpu"

    def __init__(
        self,
        task: KernelTask,
        *,
        device: int | str = 0,
        settings: KernelBenchSettings = _DEFAULTS,
        on_progress: Progress | None = None,
        processes: Processes = _TORCH,
    ) -> None:
        if task.dialect not in PYTORCH_DIALECTS:
            raise InputError(
                f"this evaluator runs tasks of dialect kernelbench, not {task.dialect}"
            )
        self.task = task
        self.settings = settings
        self._device = device
        self._processes = processes
        self._say: Progress = on_progress or (lambda _text: None)
        self._tell: StageObserver = lambda _candidate_id, _stage: None
        self._lock = threading.RLock()
        self._closers: list[Callable[[], None]] = []
        self._gpu: Gpu | None = None
        self._usual_us: float | None = None
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    @property
    def hardware(self) -> Hardware:
        return self._gpu.hardware if self._gpu is not None else Hardware(name="CPU (PyTorch)")

    @property
    def marks(self) -> tuple[str, ...]:
        """What the task gate found remarkable; in the notes of every evaluation."""
        return self._problem.marks

    @property
    def isolation(self) -> Isolation:
        """What holds candidates on this machine."""
        return self._isolation

    def tell_stages(self, observer: StageObserver) -> None:
        """Tell `observer` what is done to each candidate."""
        self._tell = observer

    def evaluate(self, candidate: Candidate) -> Evaluation:
        """Build, verify and time `candidate` in a fresh process, against the problem's model."""
        with self._turn(candidate):
            return self._evaluate(candidate, self.settings)

    def confirm(self, candidate: Candidate, evaluation: Evaluation) -> Evaluation:
        """Measure once more on fresh seeds: several times, each in a fresh pair of processes."""
        with self._turn(candidate):
            return self._evaluate(
                candidate, self.settings.confirming(), pairs=self.settings.confirm_processes
            )

    def profile(self, candidate: Candidate, evaluation: Evaluation) -> Profile:
        """No counters are collected for PyTorch candidates yet; says so."""
        reason = "counters are not collected for PyTorch candidates; see rooftree inspect"
        return Profile(hardware=self.hardware, missing={"kernels": reason})

    def measure_energy(self, candidate: Candidate, evaluation: Evaluation) -> Evaluation:
        """The evaluation with the energy of a call beside the baseline's; takes some seconds."""
        uuid = self._gpu.uuid if self._gpu is not None else None
        return with_energy(evaluation, uuid=uuid, runners=self._runners(candidate))

    @contextmanager
    def _runners(self, candidate: Candidate) -> Iterator[Runners]:
        """Baseline and candidate, ready to run; WorldError where running fails."""
        with self._turn(candidate):
            try:
                with self._trial(candidate, self.settings) as trial:
                    self._load(trial, candidate)
                    self._tell(candidate.id, "metering")
                    with trial.prepared() as runners:
                        yield runners
            except (Refused, ChildGone, Unfaithful, Failed) as error:
                raise WorldError(f"{candidate.id} could not be run again: {error}") from None

    @contextmanager
    def _turn(self, candidate: Candidate) -> Iterator[None]:
        """All of this evaluator; the candidate waits while another has it."""
        if not self._lock.acquire(blocking=False):
            self._tell(candidate.id, "waiting")
            self._lock.acquire()
        try:
            yield
        finally:
            self._lock.release()

    def close(self) -> None:
        """End all child processes, remove the files and give the GPU back; idempotent."""
        while self._closers:
            self._closers.pop()()

    # Opening

    def _open(self) -> None:
        if importlib.util.find_spec(self._processes.needs) is None:
            raise InputError(
                "PyTorch candidates need PyTorch in this environment: pip install 'rooftree[torch]'"
            )
        self._isolation = probe()
        if self._isolation.level == "process" and not self.settings.unsafe:
            lacking = "; ".join(f"{part}: {why}" for part, why in self._isolation.missing.items())
            raise InputError(
                f"nothing on this machine would isolate a candidate ({lacking}): candidates are "
                "programs that nobody has read; give --unsafe to run them all the same"
            )
        if isinstance(self._device, int):
            self._gpu = find_gpu(self._device, compiler=False)
            lock = GpuLock(self._gpu.uuid)
            lock.acquire(wait_s=self.settings.lock_wait_s, on_wait=self._say)
            self._closers.append(lock.release)
        scratch = ScratchFolder()
        self._closers.append(scratch.close)
        self._folder = scratch.path
        problem = self._folder / "problem.py"
        problem.write_text(self.task.reference or "", encoding="utf-8")
        self._say("starting PyTorch in the reference's process and in the candidates'")
        self._nursery = Nursery(self._processes.nursery, cwd=self._folder)
        self._closers.append(self._nursery.close)
        self._builder = self._make_builder()
        self._problem = OpenProblem(
            task=self.task,
            path=problem,
            module=self._processes.oracle,
            device=self._device,
            settings=self.settings,
            memory_bytes=self._memory_bytes(),
            say=self._say,
        )
        self._closers.append(self._problem.close)
        self._problem.start()
        self._say(f"the problem's model runs: {self._problem.sizes()}")
        self._problem.pass_gate()
        self._problem.try_variations()
        self._problem.measure_floor(self.hardware.l2_bytes or 0)
        self._check_baseline()

    def _make_builder(self) -> Builder:
        return Builder(
            self._nursery, folder=self._folder / "builds", gpu=self._gpu, settings=self.settings
        )

    def _check_baseline(self) -> None:
        """Judge the problem's own model like any candidate: everything is measured against it."""
        self._say("judging the problem's own model against itself")
        self._call_s = self.settings.call_deadline_s
        self.baseline_evaluation = self._evaluate(self.task.baseline, self.settings.glancing())
        timing = self.baseline_evaluation.timing
        if not self.baseline_evaluation.measured or timing is None:
            raise InputError(
                f"the model of {self.task.name} fails as its own candidate "
                f"({self.baseline_evaluation.status}): {self.baseline_evaluation.message}"
            )
        self._call_s, self._usual_us = timing.baseline_us / 1e6, timing.baseline_us

    def _memory_bytes(self) -> int:
        if self._gpu is not None and self._gpu.hardware.memory_bytes:
            return self._gpu.hardware.memory_bytes
        return 4 * 2**30

    # One candidate

    def _evaluate(
        self, candidate: Candidate, settings: KernelBenchSettings, *, pairs: int = 0
    ) -> Evaluation:
        """A suspect timing is taken again; so is a loss that may have been the world's fault."""
        evaluation, doubtful = self._attempt(candidate, settings, pairs)
        if doubtful or evaluation.status == "suspect":
            evaluation, _ = self._attempt(candidate, settings, pairs)
        return evaluation

    def _attempt(
        self, candidate: Candidate, settings: KernelBenchSettings, pairs: int
    ) -> tuple[Evaluation, bool]:
        """A verdict, and whether the world may be to blame for it.

        With `pairs`, from so many pairs of fresh processes; else one, against the oracle's.
        """
        under_way = UnderWay()
        doubtful = False
        try:
            found = self._tried(candidate, settings, pairs, under_way)
        except Failed as failed:
            found = Evaluation(
                candidate_id=candidate.id, status=failed.status, message=str(failed),
                build=failed.build or under_way.build, verification=failed.verification,
            )  # fmt: skip
        except Unfaithful as unfaithful:
            found = refused(candidate, unfaithful.refusal, under_way)
        except Refused as no:
            found = said_no(candidate, no, under_way)
            doubtful = no.kind == "cuda" and self._gpu_may_be_at_fault()
        except ChildGone as gone:
            found = lost(candidate, gone, under_way)
            # Nobody but the kernel's memory killer and an operator sends this signal.
            killed = "SIGKILL" in str(gone)
            doubtful = not gone.hung and (self._gpu_may_be_at_fault() or killed)
        self._builder.tidy(candidate)
        notes = (*self._problem.marks, *under_way.notes)
        return found.model_copy(update={"notes": notes, "isolation": self._isolation}), doubtful

    def _tried(
        self,
        candidate: Candidate,
        settings: KernelBenchSettings,
        pairs: int,
        under_way: UnderWay,
    ) -> Evaluation:
        """Verified and timed, as often as asked; the verdict where nothing was raised."""
        each: list[Times] = []
        for number in range(max(1, pairs)):
            with self._trial(candidate, settings) as trial:
                under_way.trial = trial
                verifier = Verifier(trial)
                self._load(trial, candidate)
                verifier.verify(self._rounds())
                if number == 0 and self._must_be_own(candidate):
                    trial.trace()
                self._tell(candidate.id, "timing")
                each.append(Timer(trial, verifier).time())
        times = Times.pooled(each) if pairs else each[0]
        own = "baseline" if is_host_source(self.task.baseline.source) else "eager PyTorch"
        baseline = "torch.compile" if self.settings.compiled else own
        return judged(
            candidate, trial, times, baseline=baseline, floor_us=self._problem.floor_us,
            usual_us=self._usual_us,
        )  # fmt: skip

    @contextmanager
    def _trial(self, candidate: Candidate, settings: KernelBenchSettings) -> Iterator[Trial]:
        """A candidate's build and a fresh worker for it, with the baseline in another beside it."""
        oracle = self._problem.oracle
        self._tell(candidate.id, "compiling")
        built = self._builder.build(candidate)
        self._tell(candidate.id, "verifying")
        with ExitStack() as held:
            worker = held.enter_context(self._worker(built, settings))
            own = self._builder.build(self.task.baseline)
            twin = Twin(held.enter_context(self._worker(own, settings)))
            self._load_twin(twin, own, settings)
            yield Trial(
                oracle=oracle,
                worker=worker,
                twin=twin,
                layout=self._problem.layout,
                settings=settings,
                tolerance=self.task.tolerance,
                call_s=self._call_s,
                build=built.noun,
                source=built.source,
                text=built.text,
                environment=built.environment,
                frozen_weights=self._frozen_weights,
            )

    @contextmanager
    def _worker(self, built: BuiltModule, settings: KernelBenchSettings) -> Iterator[Worker]:
        """A fresh process with the device and the shared memory. WorldError where there is none."""
        worker = Worker(
            self._nursery,
            jail=Jail(
                gpu=self._gpu is not None,
                writable=(built.folder,),
                readable=(built.source.parent, *settings.readable),
            ),
            cwd=built.folder,
        )
        try:
            try:
                worker.start(
                    self._problem.oracle,
                    device=self._device,
                    reserve_bytes=self._problem.layout.process_bytes,
                    timeout_s=settings.start_deadline_s,
                )
            except (ChildGone, Refused) as error:
                raise WorldError(
                    f"a worker for PyTorch candidates did not start: {error}"
                ) from None
            yield worker
        finally:
            worker.kill()

    def _load_twin(self, twin: Twin, own: BuiltModule, settings: KernelBenchSettings) -> None:
        weights = self._problem.oracle.ask("weights", seed=None)["weights"]
        twin.ask(
            "load", path=str(own.source), init=self._problem.facts["init"], weights=weights,
            seed=0, environment=own.environment, module="baseline_twin",
            timeout_s=settings.load_deadline_s,
        )  # fmt: skip

    def _load(self, trial: Trial, candidate: Candidate) -> None:
        trial.load(init=self._problem.facts["init"], seed=seed_from("construct", candidate.id))

    @property
    def _frozen_weights(self) -> bool:
        """Whether there is nothing in the model that may change between calls."""
        return self.task.policy.weights == "frozen" or not self._problem.facts["parameters"]

    def _must_be_own(self, candidate: Candidate) -> bool:
        """Whether the policy forbids libraries; the problem's own model may use them."""
        forbidden = self.task.policy.libraries == "forbidden"
        return forbidden and self._gpu is not None and candidate.id != self.task.baseline.id

    def _rounds(self) -> list[Any]:
        return list(
            rounds_of(
                mutable_weights=not self._frozen_weights,
                hidden_shapes=self.task.policy.hidden_shapes,
                variations=self._problem.variations,
            )
        )

    # What goes wrong

    def _gpu_may_be_at_fault(self) -> bool:
        """Ask the GPU from a fresh process. WorldError where it does not answer.

        Returns whether the oracle, which no candidate can reach, was lost as well.
        """
        probe_worker = Worker(self._nursery, jail=Jail(gpu=self._gpu is not None), cwd=self._folder)
        try:
            probe_worker.ask("probe", device=self._device, timeout_s=60.0)
        except (ChildGone, Refused) as error:
            raise WorldError(f"the GPU does not answer any more: {error}") from None
        finally:
            probe_worker.kill()
        return not self._problem.alive
