"""An evaluator that answers from a recording: real measurements, no GPU."""

from __future__ import annotations

import random
from functools import cached_property

from mcts.domain import (
    SPACE,
    Build,
    Candidate,
    Evaluation,
    Hardware,
    KernelProfile,
    KernelTask,
    Profile,
    Timing,
    Tunable,
    TunableSpace,
    Verification,
    Work,
    Workload,
)
from mcts.errors import InputError, NotRecorded
from mcts.ports import Evaluator
from mcts.search.seeding import seed_from
from profilers.ncu.metrics import COLLECTED
from profilers.recordings.recording import RecordedConfiguration, Recording
from profilers.recordings.replay_timing import (
    Times,
    latency_fields,
    replayable_weights,
    times_by_workload,
    weighted_timing,
)
from profilers.roofline import classify


class ReplayEvaluator(Evaluator):
    """Evaluates candidates of `task` from `recording`.

    Times are drawn from the recorded runtimes, with replacement, under a seed derived from `seed`
    and the candidate's id: the noise is the device's own, and equal candidates get equal answers.
    If several shapes were recorded, their weighted latency is replayed; if the task has several but
    the recording only the heaviest, every evaluation has a note. Pure and thread-safe.

    Raises InputError when the recording belongs to another state of the task.
    """

    name = "replay"
    can_confirm = True
    measures_energy = True

    def __init__(self, task: KernelTask, recording: Recording, *, seed: int = 0) -> None:
        if task.dialect.has_source and recording.task_id != task.id:
            if recording.task_name != task.name:
                raise InputError(
                    f"{recording.origin} is a recording of task {recording.task_name!r}, not of "
                    f"{task.name!r}"
                )
            raise InputError(
                f"{recording.origin} was recorded for another state of task {task.name!r} "
                f"({recording.task_id or 'no task id'}, now {task.id}); re-record it on a GPU, "
                "or put the task back"
            )
        self.task = restricted_to_recorded(task, recording)
        """Restricted to the configurations that the recording holds."""
        self._recording = recording
        self._seed = seed
        found = recording.find(task.baseline.tunables)
        if found is None or not found.measured:
            raise InputError(
                f"{recording.origin}: the baseline of task {task.name!r} was not measured; "
                "re-record it on a GPU"
            )
        self._baseline = found
        self._weights = replayable_weights(task, found)
        self._notes: tuple[str, ...] = ()
        if len(task.timed_workloads) > 1 and not self._weights:
            self._notes = (
                f"{recording.origin} holds times of workload {task.timed_workload.name} alone",
            )

    @cached_property
    def hardware(self) -> Hardware:
        return self._recording.hardware.model_copy(
            update={"recorded_on": self._recording.recorded_on}
        )

    @cached_property
    def _baseline_code(self) -> str:
        return Candidate(source=self.task.baseline.source).id

    def evaluate(self, candidate: Candidate) -> Evaluation:
        """The recorded verdict, with freshly drawn times.

        Raises NotRecorded for other source, or tunables that nobody recorded.
        """
        record = self._record(candidate)
        build = None if record.compile_seconds is None else _build(record)
        if record.status == "compile_failed":
            build = build or Build(log=record.message)
        timed = record.measured
        return Evaluation(
            candidate_id=candidate.id,
            # Evaluation requires the times of a suspect variant and the evidence of a refusal,
            # which a recording does not have.
            status="wrong_result" if record.status in _REJECTED else record.status,
            message=record.message,
            build=build,
            verification=_verification(record) if record.status in _COMPARED else None,
            timing=self._timing(candidate, record) if timed else None,
            energy=record.energy if timed else None,
            notes=self._notes,
        )

    def confirm(self, candidate: Candidate, evaluation: Evaluation) -> Evaluation:
        """The recorded verdict with times drawn anew, independently of those the search saw.

        Raises NotRecorded like `evaluate`.
        """
        record = self._record(candidate)
        again = self.evaluate(candidate)
        if not again.measured:
            return again
        return again.model_copy(update={"timing": self._timing(candidate, record, "confirm")})

    def measure_energy(self, candidate: Candidate, evaluation: Evaluation) -> Evaluation:
        """`evaluation` with the recorded energy beside the baseline's, or a note that none is.

        Raises NotRecorded like `evaluate`.
        """
        energy, baseline = self._record(candidate).energy, self._baseline.energy
        if energy is None or baseline is None:
            note = f"{self._recording.origin} holds no energy of this configuration"
            if baseline is None:
                note = f"{self._recording.origin} holds no energy of the baseline"
            return evaluation.model_copy(update={"notes": (*evaluation.notes, note)})
        if energy.baseline_mj is None:
            energy = energy.model_copy(update={"baseline_mj": baseline.energy_mj})
        return evaluation.model_copy(update={"energy": energy})

    def profile(self, candidate: Candidate, evaluation: Evaluation) -> Profile:
        """The recorded counters and facts, with the roofline of the recorded device.

        Raises NotRecorded like `evaluate`.
        """
        record = self._record(candidate)
        names = list(dict.fromkeys([*record.metrics, *record.sass]))
        kernels = tuple(
            KernelProfile(
                name=name,
                launches=record.launches.get(name, 1),
                metrics=record.metrics.get(name, {}),
                sass=record.sass.get(name),
            )
            for name in names
        )
        profile = Profile(
            kernels=kernels, missing=_missing(record), hardware=self._recording.hardware
        )
        time_us = evaluation.timing.heaviest.median_us if evaluation.timing else None
        roofline = classify(work=Work.of(self.task), profile=profile, time_us=time_us)
        return profile.model_copy(update={"roofline": roofline})

    def close(self) -> None:
        """Does nothing: no resources are held."""

    def _record(self, candidate: Candidate) -> RecordedConfiguration:
        baseline = self.task.baseline
        same = candidate.source == baseline.source
        if not same and Candidate(source=candidate.source).id != self._baseline_code:
            raise NotRecorded(
                "a recording holds only the task's own source with other tunables; "
                "new code needs a GPU"
            )
        record = self._recording.find(candidate.tunables)
        if record is None:
            values = ", ".join(f"{k}={v}" for k, v in sorted(candidate.tunables.items()))
            raise NotRecorded(
                f"{self._recording.origin} holds no configuration {values or '(none)'}"
            )
        return record

    def _timing(self, candidate: Candidate, record: RecordedConfiguration, *purpose: str) -> Timing:
        """Times drawn for a purpose; the purpose of the search has no name."""
        seed = seed_from(self._seed, candidate.id, *purpose, "interval")
        if not self._weights:
            after, before = record.runtimes_us, self._baseline.runtimes_us
            both = self._drawn(before, after, candidate.id, *purpose)
            return Timing(**latency_fields(*both, seed=seed), host_us=record.host_us)
        own, usual = times_by_workload(record), times_by_workload(self._baseline)
        if missing := self._weights.keys() - own.keys():
            values = ", ".join(f"{k}={v}" for k, v in sorted(candidate.tunables.items()))
            raise NotRecorded(
                f"{self._recording.origin} holds no times of {values} on workload {min(missing)}"
            )
        drawn = {
            name: self._drawn(usual[name], own[name], candidate.id, *purpose, name)
            for name in self._weights
        }
        return weighted_timing(self.task, self._weights, drawn, host_us=record.host_us, seed=seed)

    def _drawn(
        self, before: Times, after: Times, candidate_id: str, *purpose: str
    ) -> tuple[Times, Times]:
        """The baseline's and the candidate's times, redrawn from the recorded ones."""
        return (
            self._draw(before, candidate_id, *purpose, "baseline"),
            self._draw(after, candidate_id, *purpose, "candidate"),
        )

    def _draw(self, recorded: Times, candidate_id: str, *purpose: str) -> Times:
        generator = random.Random(seed_from(self._seed, candidate_id, *purpose))
        return tuple(generator.choices(recorded, k=len(recorded)))


_REJECTED = frozenset({"suspect", "refused"})
_COMPARED = frozenset({"measured", "wrong_result"}) | _REJECTED


def _build(record: RecordedConfiguration) -> Build:
    def known(field: str) -> dict[str, int]:
        values = {name: getattr(facts, field) for name, facts in record.sass.items()}
        return {name: value for name, value in values.items() if value is not None}

    return Build(
        seconds=record.compile_seconds,
        log=record.message if record.status == "compile_failed" else "",
        registers=known("registers"),
        shared_bytes=known("shared_bytes"),
        local_bytes=known("stack_bytes"),
    )


def _verification(record: RecordedConfiguration) -> Verification:
    return Verification(
        passed=record.measured,
        rounds=record.verification_rounds,
        max_error=record.max_error,
        worst_ratio=record.worst_ratio,
        detail=record.message or ("" if record.verification_rounds else "as recorded"),
    )


def _missing(record: RecordedConfiguration) -> dict[str, str]:
    missing: dict[str, str] = {}
    if not record.metrics:
        missing["ncu"] = "the recording holds no hardware counters"
    for kernel, metrics in record.metrics.items():
        for name in COLLECTED:
            if name not in metrics:
                missing[name] = f"not in the recording (kernel {kernel})"
    if not record.sass:
        missing["sass"] = "the recording holds no SASS facts"
    return missing


def restricted_to_recorded(task: KernelTask, recording: Recording) -> KernelTask:
    """The task, restricted to the configurations that `recording` holds.

    A recording may be an even choice of a large space; a search that knows the recorded ones wastes
    no trials on others. Unchanged if the recording is of other tunables.
    """
    names = tuple(task.space.tunables)
    if not names or task.space.rows or not set(names) <= recording.tunables.keys():
        return task
    values = [tunable.values for tunable in task.space.tunables.values()]
    try:
        at = sorted(
            tuple(
                known.index(record.configuration[name])
                for name, known in zip(names, values, strict=True)
            )
            for record in recording.configurations
        )
    except (KeyError, ValueError):
        return task
    rows = [tuple(known[i] for known, i in zip(values, row, strict=True)) for row in at]
    space = task.space.model_copy(update={"rows": tuple(rows)})
    return task.model_copy(update={"space": space})


def task_from_recording(recording: Recording) -> KernelTask:
    """The space itself as a task, for a recording without source: every configuration is a move.

    The baseline is `Recording.baseline_record()`: the configuration of median time if the file
    names no default. Only recorded combinations exist. Raises InputError if none was measured.
    """
    baseline = recording.baseline_record().configuration
    names = tuple(recording.tunables)
    tunables = {
        name: Tunable(values=values, default=baseline[name])
        for name, values in recording.tunables.items()
    }
    rows = tuple(
        tuple(record.configuration[name] for name in names) for record in recording.configurations
    )
    return KernelTask(
        name=recording.task_name,
        dialect=SPACE,
        summary=f"{len(rows)} configurations recorded by {recording.origin}",
        baseline=Candidate(tunables=dict(baseline)),
        workloads=(Workload(name="recorded", shape={}),),
        space=TunableSpace(tunables=tunables, rows=rows),
    )
