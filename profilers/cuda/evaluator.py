"""The evaluator on a real GPU: compile, verify and time, whatever the candidate does."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from mcts.domain import Candidate, Evaluation, Hardware, Isolation, KernelTask, Profile
from mcts.errors import InputError, WorldError
from mcts.ports import Evaluator, Stage, StageObserver
from profilers.children.processes import ChildGone
from profilers.children.protocol import RequestRefused
from profilers.compiling.building import Built, Failed
from profilers.cuda.judging import FreshCase, Judge, load
from profilers.cuda.profiling import profile_candidates
from profilers.cuda.settings import GpuSettings
from profilers.cuda.workplace import CudaWorkplace
from profilers.hardware.device import Gpu
from profilers.measuring.energy import Run, Runners
from profilers.measuring.metering import with_energy

__all__ = ["GpuEvaluator", "GpuSettings", "Runners"]

Progress = Callable[[str], None]
_DEFAULTS = GpuSettings()


class GpuEvaluator(Evaluator):
    """Judges `cuda` candidates of one task on one GPU; implements the port `Evaluator`.

    Compiles run side by side in compiler processes; the GPU is used by one candidate at a time.
    Candidates run in a worker that is killed and replaced after a fault or a missed deadline.
    Constructing it takes the GPU's lock, asks the reference whether the task can be judged,
    computes it on the timed cases and judges the baseline: InputError if the task is faulty or
    there is no GPU, WorldError if the GPU is taken or does not answer.
    """

    name = "gpu"
    can_confirm = True
    measures_energy = True

    def __init__(
        self,
        task: KernelTask,
        *,
        device: int = 0,
        cache_dir: Path | None = None,
        settings: GpuSettings = _DEFAULTS,
        on_progress: Progress | None = None,
    ) -> None:
        self.task = task
        self.settings = settings
        self._say: Progress = on_progress or (lambda _text: None)
        self._observer: StageObserver = lambda _candidate_id, _stage: None
        self._isolation: Isolation | None = None
        self._gpu_lock = threading.Lock()
        self._place = CudaWorkplace(
            task, device=device, cache_dir=cache_dir, settings=settings, say=self._say
        )
        try:
            self._place.open()
            self._judge = Judge(
                task, self._place.worker, settings,
                floors_us=self._place.floors_us(), on_stage=self._tell,
            )  # fmt: skip
            self._check_baseline()
        except BaseException:
            self.close()
            raise

    @property
    def gpu(self) -> Gpu:
        """The device that is judged on."""
        return self._place.gpu

    @property
    def hardware(self) -> Hardware:
        """The device with the ceilings measured on it."""
        return self._place.hardware

    @property
    def marks(self) -> tuple[str, ...]:
        """Notes for a reader of any result; they are added to every evaluation."""
        return self._place.marks

    def tell_stages(self, observer: StageObserver) -> None:
        """Tell `observer` at which stage each candidate is."""
        self._observer = observer

    def evaluate(self, candidate: Candidate) -> Evaluation:
        """Compile, verify and time `candidate` against the baseline."""
        return self._evaluate(candidate, self._judge_once)

    def confirm(self, candidate: Candidate, evaluation: Evaluation) -> Evaluation:
        """Judge a finalist again: in a fresh worker, on fresh cases, over more blocks.

        Profile and energy of `evaluation` are kept if the finalist is measured again.
        """
        found = self._evaluate(candidate, self._judge_afresh)
        blocks = self.settings.confirm_blocks
        note = f"confirmed in a fresh process, on fresh inputs, over up to {blocks} blocks"
        update: dict[str, object] = {"notes": (*found.notes, note)}
        if found.measured:
            update |= {"profile": evaluation.profile, "energy": evaluation.energy}
        return found.model_copy(update=update)

    def measure_energy(self, candidate: Candidate, evaluation: Evaluation) -> Evaluation:
        """The evaluation with the energy per call of candidate and baseline; takes some seconds.

        Of several timed workloads the heaviest is measured, and a note says so.
        """
        runners = self.workload_runner(candidate)
        found = with_energy(evaluation, uuid=self.gpu.uuid, runners=runners)
        if found.energy is None or len(self.task.timed_workloads) == 1:
            return found
        note = f"energy is that of workload {self.task.timed_workload.name} alone"
        return found.model_copy(update={"notes": (*found.notes, note)})

    @contextlib.contextmanager
    def workload_runner(self, candidate: Candidate) -> Iterator[Runners]:
        """Both programs, ready to run on the heaviest workload as often as needed.

        The GPU belongs to the caller until the context ends. InputError if the candidate cannot
        be built; WorldError, also from the runners, if running fails: this is for candidates that
        were measured before.
        """
        try:
            built = self._place.build(candidate)
        except Failed as failed:
            raise InputError(f"nothing to run: {failed}") from None
        with self._gpu_for(candidate.id, "metering"):
            try:
                self._place.worker.ready()
                load(self._place.worker, "candidate", built, self.settings)
            except (ChildGone, RequestRefused) as error:
                raise WorldError(f"{candidate.id} could not be run again: {error}") from None
            yield Runners(self._runner("baseline"), self._runner("candidate"))

    def profile(self, candidate: Candidate, evaluation: Evaluation) -> Profile:
        """Counters, SASS facts and the roofline of a measured candidate."""
        time_us = evaluation.timing.heaviest.median_us if evaluation.timing else None
        return self._profile([candidate], [time_us])[0]

    def profile_many(self, candidates: Sequence[Candidate]) -> list[Profile]:
        """Profile several candidates under one start of the profiler, in order."""
        return self._profile(candidates, [None] * len(candidates))

    def close(self) -> None:
        """End all child processes, remove the cases and give the GPU back; idempotent."""
        self._place.close()

    def _tell(self, candidate_id: str, stage: Stage) -> None:
        self._observer(candidate_id, stage)

    def _check_baseline(self) -> None:
        """Judge the baseline like any candidate, because everything is measured against it."""
        self._say("checking the baseline")
        self.baseline_evaluation = self.evaluate(self.task.baseline)
        if not self.baseline_evaluation.measured:
            raise InputError(
                f"the baseline of {self.task.name} fails ({self.baseline_evaluation.status}): "
                f"{self.baseline_evaluation.message}"
            )

    def _evaluate(self, candidate: Candidate, judge: Callable[[Built], Evaluation]) -> Evaluation:
        isolation = None
        self._tell(candidate.id, "compiling")
        try:
            built = self._place.build(candidate)
            self._tell(candidate.id, "verifying")
            isolation = self._isolation
            found = judge(built)
            isolation = self._isolation
        except Failed as failed:
            found = Evaluation(
                candidate_id=candidate.id,
                status=failed.status,
                message=str(failed),
                build=failed.build,
                verification=failed.verification,
                refusal=failed.refusal,
            )
        return found.model_copy(
            update={"notes": (*found.notes, *self.marks), "isolation": isolation}
        )

    def _judge_once(self, built: Built) -> Evaluation:
        fresh = self._place.fresh_cases()
        try:
            with self._gpu_for(built.candidate.id, "verifying"):
                return self._judged(built, fresh, self.settings)
        finally:
            self._place.discard(fresh)

    def _judge_afresh(self, built: Built) -> Evaluation:
        fresh = self._place.fresh_cases()
        cases = self._place.confirmation_cases()
        try:
            with (
                self._gpu_for(built.candidate.id, "verifying"),
                self._place.afresh(cases),
            ):
                return self._judged(built, fresh, self.settings.for_confirmation())
        finally:
            self._place.discard(fresh)

    def _judged(
        self, built: Built, fresh: Sequence[FreshCase], settings: GpuSettings
    ) -> Evaluation:
        self._place.worker.ready()
        self._isolation = self._place.worker.isolation
        return self._judge.judge(built, fresh, settings)

    @contextlib.contextmanager
    def _gpu_for(self, candidate_id: str, stage: Stage) -> Iterator[None]:
        """Hold the GPU for `stage`; the candidate waits while others use it."""
        if not self._gpu_lock.acquire(blocking=False):
            self._tell(candidate_id, "waiting")
            self._gpu_lock.acquire()
        try:
            self._tell(candidate_id, stage)
            yield
        finally:
            self._gpu_lock.release()

    def _runner(self, role: str) -> Run:
        per_call_s, workload = 0.0, self.task.timed_workload.name

        def run(calls: int) -> None:
            nonlocal per_call_s
            timeout_s = self.settings.time_deadline_s + 10 * calls * per_call_s
            try:
                reply = self._place.worker.ask(
                    {"op": "batch", "role": role, "workload": workload, "calls": calls},
                    timeout_s=timeout_s,
                )
            except (ChildGone, RequestRefused) as error:
                raise WorldError(f"the {role} could not be run again: {error}") from None
            per_call_s = max(per_call_s, reply["host_us"] / calls / 1e6)

        return run

    def _profile(
        self, candidates: Sequence[Candidate], times_us: Sequence[float | None]
    ) -> list[Profile]:
        first = candidates[0].id if candidates else ""
        return profile_candidates(
            self._place, candidates, times_us, tell=self._tell,
            turn=lambda: self._gpu_for(first, "profiling"),
        )  # fmt: skip
