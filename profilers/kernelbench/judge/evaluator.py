"""The evaluator of PyTorch candidates: a `ModelNew` against a KernelBench problem's `Model`.

Three processes share the work. This one, the judge, never imports torch: it owns seeds, deadlines,
verdicts and an outside clock. The oracle holds the problem's model and computes what is right. The
candidate runs in a jailed worker of its own, and what that answers is a claim.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median

from mcts.domain import (
    Candidate,
    Evaluation,
    Hardware,
    Isolation,
    KernelTask,
    Profile,
)
from mcts.errors import InputError, UnfitTask, WorldError
from mcts.ports import Evaluator, StageObserver
from profilers.children.processes import ChildGone
from profilers.children.protocol import RequestRefused
from profilers.compiling.building import Failed
from profilers.kernelbench.judge.building import Builds, CandidateBuilder
from profilers.kernelbench.judge.deadline import UNBOUNDED, VerdictDeadline
from profilers.kernelbench.judge.evaluations import (
    Attempt,
    failed_request_evaluation,
    late_evaluation,
    lost_worker_evaluation,
    refused_evaluation,
    timed_evaluation,
)
from profilers.kernelbench.judge.profiling import MachineCode, compiled_machine_code, profile_model
from profilers.kernelbench.judge.rounds import VerificationRound
from profilers.kernelbench.judge.session import CandidateSession
from profilers.kernelbench.judge.settings import (
    BASELINE_TIMES,
    FIRST_VERDICT_S,
    KernelBenchSettings,
)
from profilers.kernelbench.judge.timing import BlockTimes, PairedTimer
from profilers.kernelbench.judge.verdicts import Unfaithful
from profilers.kernelbench.judge.verifying import Verifier
from profilers.kernelbench.judge.workplace import KernelBenchWorkplace, Processes
from profilers.measuring.energy import Runners
from profilers.measuring.metering import with_energy

__all__ = ["KernelBenchEvaluator", "Processes"]

Progress = Callable[[str], None]

_TORCH = Processes()
_DEFAULTS = KernelBenchSettings()


class KernelBenchEvaluator(Evaluator):
    """Judges candidates of one `kernelbench` task on one GPU.

    `device` is an ordinal, or "cpu" for PyTorch without a GPU. Evaluators that are given the same
    `built` compile a candidate once among them; the one that compiled it closes last. Constructing
    it takes the GPU's lock, starts the oracle, puts the task through its gate and judges the
    baseline. InputError if the task is faulty, torch is missing or nothing would isolate the
    candidates; WorldError if the GPU is taken or does not answer.
    """

    name = "gpu"
    can_confirm = True
    measures_energy = True

    def __init__(
        self,
        task: KernelTask,
        *,
        device: int | str = 0,
        settings: KernelBenchSettings = _DEFAULTS,
        on_progress: Progress | None = None,
        processes: Processes = _TORCH,
        built: Builds | None = None,
    ) -> None:
        if not task.dialect.in_pytorch:
            raise InputError(
                f"this evaluator runs tasks of dialect kernelbench, not {task.dialect}"
            )
        self.task = task
        self.settings = settings
        self._built = built
        self._say: Progress = on_progress or (lambda _text: None)
        self._tell: StageObserver = lambda _candidate_id, _stage: None
        self._lock = threading.RLock()
        self._usual_us: float | None = None
        self._slowest_block_us: float | None = None
        self._call_s = settings.call_deadline_s
        self._place = KernelBenchWorkplace(
            task, device=device, settings=settings, processes=processes, say=self._say
        )
        try:
            self._place.open(self._make_builder)
            begin = time.monotonic()
            self._check_baseline()
            usual_s = FIRST_VERDICT_S + BASELINE_TIMES * (time.monotonic() - begin)
            self._verdict_s = settings.verdict_within_s or usual_s
            self._say(f"each verdict comes within {self._verdict_s:.0f} s (--verdict-within)")
            self._work_ahead()
        except BaseException:
            self.close()
            raise

    @property
    def hardware(self) -> Hardware:
        """The device, with the ceilings measured on it where they could be."""
        return self._place.hardware

    @property
    def marks(self) -> tuple[str, ...]:
        """The task gate's notes; they are added to every evaluation."""
        return self._place.problem.marks

    @property
    def isolation(self) -> Isolation:
        """How candidates are isolated on this machine."""
        return self._place.isolation

    def tell_stages(self, observer: StageObserver) -> None:
        """Tell `observer` at which stage each candidate is."""
        self._tell = observer

    def evaluate(self, candidate: Candidate) -> Evaluation:
        """Build, verify and time `candidate` in a fresh process, against the problem's model."""
        return self._judged(candidate)

    def confirm(self, candidate: Candidate, evaluation: Evaluation) -> Evaluation:
        """Measure once more on fresh seeds: several times, each in a fresh pair of processes."""
        with self._turn(candidate), VerdictDeadline(self._verdict_s) as deadline:
            return self._evaluate(
                candidate, self.settings.for_confirmation(), deadline,
                pairs=self.settings.confirm_processes,
            )  # fmt: skip

    def profile(self, candidate: Candidate, evaluation: Evaluation) -> Profile:
        """The profile of a measured candidate: counters, machine code, timeline, roofline.

        What cannot be measured is named, whatever the candidate does.
        """
        time_us = evaluation.timing.heaviest.median_us if evaluation.timing else None
        with self._turn(candidate):
            return profile_model(
                self._place, candidate, time_us=time_us, tell=self._tell,
                read_machine_code=self._machine_code, call_s=self._call_s,
            )  # fmt: skip

    def measure_energy(self, candidate: Candidate, evaluation: Evaluation) -> Evaluation:
        """The evaluation with the energy per call of candidate and baseline; takes some seconds."""
        uuid = self._place.gpu.uuid if self._place.gpu is not None else None
        return with_energy(evaluation, uuid=uuid, runners=self._runners(candidate))

    @contextmanager
    def _runners(self, candidate: Candidate) -> Iterator[Runners]:
        """Baseline and candidate, ready to run; WorldError if running fails."""
        with self._turn(candidate):
            try:
                with self._session(candidate, self.settings) as session:
                    self._place.load(session, candidate)
                    self._tell(candidate.id, "metering")
                    with session.prepared() as runners:
                        yield runners
            except (RequestRefused, ChildGone, Unfaithful, Failed) as error:
                raise WorldError(f"{candidate.id} could not be run again: {error}") from None

    def _judged(self, candidate: Candidate, *, spent_s: float = 0.0) -> Evaluation:
        """Evaluate in turn; `spent_s` of the time for the verdict are over already."""
        left = max(1.0, self._verdict_s - spent_s)
        with self._turn(candidate), VerdictDeadline(left) as deadline:
            return self._evaluate(candidate, self.settings, deadline)

    @contextmanager
    def _turn(self, candidate: Candidate) -> Iterator[None]:
        """Hold the whole evaluator; the candidate waits while another one has it."""
        if not self._lock.acquire(blocking=False):
            self._tell(candidate.id, "waiting")
            self._lock.acquire()
        try:
            self._place.ahead.stop()
            yield
        finally:
            try:
                self._work_ahead()
            finally:
                self._lock.release()

    def _work_ahead(self) -> None:
        """Let the reference prepare the next verification, until the next turn."""
        if self.settings.alone:
            self._place.ahead.begin()

    def close(self) -> None:
        """End all child processes, remove the files and give the GPU back; idempotent."""
        self._place.close()

    def _make_builder(self) -> CandidateBuilder:
        place = self._place
        return CandidateBuilder(
            place.fork_server, folder=place.folder / "builds", gpu=place.gpu,
            settings=self.settings, built=self._built,
        )  # fmt: skip

    def _machine_code(self, candidate: Candidate) -> MachineCode:
        """The machine code that the candidate's compilers have left behind."""
        return compiled_machine_code(self._place, candidate)

    def _check_baseline(self) -> None:
        """Judge the problem's own model like a candidate, since all are measured against it.

        Inputs beyond the drawn range that it fails on, in a process of its own, are left out;
        another baseline must be right on them.
        """
        own = "the problem's own model" if self._begins_with_model else "the baseline"
        self._say(f"judging {own} against itself")
        settings = self.settings.for_baseline()
        found = self._evaluate(self.task.baseline, settings, UNBOUNDED)
        while self._begins_with_model and self._left_out(found):
            found = self._evaluate(self.task.baseline, settings, UNBOUNDED)
        self.baseline_evaluation = found
        timing = self.baseline_evaluation.timing
        if not self.baseline_evaluation.measured or timing is None:
            again = self.baseline_evaluation.status in ("suspect", "timed_out")
            raise (InputError if again else UnfitTask)(
                f"{'the model' if self._begins_with_model else 'the baseline'} of "
                f"{self.task.name} fails as its own candidate "
                f"({self.baseline_evaluation.status}): {self.baseline_evaluation.message}"
            )
        self._call_s, self._usual_us = timing.baseline_us / 1e6, self._slowest_block_us

    @property
    def _begins_with_model(self) -> bool:
        """Whether the baseline is the problem's own model."""
        return self.task.baseline.source.startswith((self.task.reference or "").rstrip())

    def _left_out(self, found: Evaluation) -> bool:
        """Whether inputs beyond the drawn range made the model wrong, and are left out now."""
        problem = self._place.problem
        for variation in problem.variations:
            item = VerificationRound(variation)
            if (
                item.kinds
                and found.status == "wrong_result"
                and found.message.startswith(item.label)
            ):
                self._say(f"the model is not steady on rows {', '.join(item.kinds)}: left out")
                problem.variations = tuple(x for x in problem.variations if x != variation)
                return True
        return False

    def _evaluate(
        self,
        candidate: Candidate,
        settings: KernelBenchSettings,
        deadline: VerdictDeadline,
        *,
        pairs: int = 0,
    ) -> Evaluation:
        """Judge; once more if a timing is suspect or a failure may be the machine's fault, and
        there is time for that.
        """
        evaluation, doubtful = self._attempt(candidate, settings, deadline, pairs)
        if (doubtful or evaluation.status == "suspect") and not deadline.passed:
            again, _ = self._attempt(candidate, settings, deadline, pairs)
            evaluation = evaluation if deadline.passed else again
        return evaluation

    def _attempt(
        self,
        candidate: Candidate,
        settings: KernelBenchSettings,
        deadline: VerdictDeadline,
        pairs: int,
    ) -> tuple[Evaluation, bool]:
        """An evaluation, and whether the machine may be to blame for it.

        With `pairs`, from so many pairs of fresh processes; else from one pair.
        """
        attempt = Attempt()
        doubtful = False
        try:
            found = self._verified_and_timed(candidate, settings, deadline, pairs, attempt)
        except Failed as failed:
            found = Evaluation(
                candidate_id=candidate.id, status=failed.status, message=str(failed),
                build=failed.build or attempt.build, verification=failed.verification,
            )  # fmt: skip
        except Unfaithful as unfaithful:
            found = refused_evaluation(candidate, unfaithful.refusal, attempt)
        except RequestRefused as no:
            found = failed_request_evaluation(candidate, no, attempt)
            doubtful = no.kind == "cuda" and self._place.gpu_may_be_at_fault()
        except ChildGone as gone:
            if deadline.passed:
                found = late_evaluation(candidate, self._verdict_s, attempt)
            else:
                found = lost_worker_evaluation(candidate, gone, attempt)
                # Only the kernel's OOM killer or an operator sends this signal.
                killed = "SIGKILL" in str(gone)
                doubtful = not gone.hung and (self._place.gpu_may_be_at_fault() or killed)
        self._place.builder.tidy(candidate)
        notes = (*self.marks, *attempt.notes)
        return found.model_copy(update={"notes": notes, "isolation": self.isolation}), doubtful

    def _verified_and_timed(
        self,
        candidate: Candidate,
        settings: KernelBenchSettings,
        deadline: VerdictDeadline,
        pairs: int,
        attempt: Attempt,
    ) -> Evaluation:
        """Verify and time as often as asked; the evaluation if nothing was raised."""
        each: list[BlockTimes] = []
        for number in range(max(1, pairs)):
            with self._session(candidate, settings, deadline) as session:
                attempt.session = session
                verifier = Verifier(session)
                self._place.load(session, candidate)
                verifier.verify(self._place.rounds(beyond=number == 0))
                if number == 0 and self._must_be_own(candidate):
                    session.trace()
                self._tell(candidate.id, "timing")
                each.append(PairedTimer(session, verifier).time())
        times = BlockTimes.pooled(each) if pairs else each[0]
        self._slowest_block_us = max(median(block) for block in times.baseline)
        own = "eager PyTorch" if self._begins_with_model else "baseline"
        baseline = "torch.compile" if self.settings.compiled else own
        return timed_evaluation(
            candidate, session, times, baseline=baseline, floor_us=self._place.problem.floor_us,
            usual_us=self._usual_us, least_us=self._place.least_us,
        )  # fmt: skip

    @contextmanager
    def _session(
        self,
        candidate: Candidate,
        settings: KernelBenchSettings,
        deadline: VerdictDeadline = UNBOUNDED,
    ) -> Iterator[CandidateSession]:
        with self._place.session(
            candidate, settings, call_s=self._call_s, tell=self._tell, deadline=deadline
        ) as session:
            yield session

    def _must_be_own(self, candidate: Candidate) -> bool:
        """Whether the policy forbids libraries; the problem's own model may use them."""
        forbidden = self.task.policy.libraries == "forbidden"
        return forbidden and self._place.gpu is not None and candidate.id != self.task.baseline.id
