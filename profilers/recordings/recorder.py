"""Measures a whole tunable space into a recording; can be resumed after any record."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from mcts.domain import (
    Candidate,
    Evaluation,
    KernelTask,
    Metric,
    Profile,
    Timing,
    TunableSpace,
    configuration_key,
    declared_space,
    tagged_hash,
)
from mcts.domain.evaluation import Latency
from mcts.domain.expressions import Scalar
from mcts.domain.tunables import ConfigurationKey
from mcts.errors import InputError, WorldError
from mcts.ports import Evaluator
from mcts.search.seeding import seed_from
from mcts.text import cut
from profilers.recordings.recording import RecordedConfiguration, RecordedShape, Recording
from profilers.recordings.t4_result import rounded

PROFILE_BATCH = 50
"""Candidates that a device profiles before they are kept."""
MESSAGE_LENGTH = 600


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a recording is. `stage` is "measure" or "profile"."""

    stage: str
    done: int
    total: int
    failed: int = 0


def record(
    task: KernelTask,
    evaluator: Evaluator,
    *,
    space: TunableSpace | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    limit: int | None = None,
    parallel: int = 8,
    profile: bool = True,
    on_result: Callable[[RecordedConfiguration], None] | None = None,
    done: Mapping[ConfigurationKey, RecordedConfiguration] | None = None,
) -> Recording:
    """Measure every allowed configuration of `task`'s space through `evaluator`.

    The baseline comes first; with `limit`, an even, repeatable choice of the others follows.
    Failures are recorded as such. `on_result` gets each record when it is measured and again when
    it is profiled (store both; the later one counts); `done` are such records by key, from a run
    that was killed. Raises InputError when the baseline fails; a WorldError propagates after all
    finished measurements were passed to `on_result`.
    """
    space = space or _space_of(task)
    tell = on_progress or (lambda _: None)
    keep = on_result or (lambda _: None)
    wanted = _choose(task, space, limit)
    records = {key: r for key, r in (done or {}).items() if key in wanted}
    todo = {key: c for key, c in wanted.items() if key not in records}
    for count, fresh in enumerate(_measure(evaluator, todo, parallel), start=1):
        keep(fresh)
        records[fresh.key] = fresh
        failed = sum(not r.measured for r in records.values())
        tell(Progress("measure", len(wanted) - len(todo) + count, len(wanted), failed))
        _check_baseline(task, records)
    _check_baseline(task, records)
    if profile:
        _profile(evaluator, wanted, records, keep=keep, tell=tell)
    return _recording(task, evaluator, space, [records[key] for key in wanted])


def _check_baseline(
    task: KernelTask, records: Mapping[ConfigurationKey, RecordedConfiguration]
) -> None:
    """Stop as soon as the baseline has failed: a recording without it is useless."""
    found = records.get(configuration_key(task.baseline.tunables))
    if found is not None and not found.measured:
        raise InputError(f"the baseline of task {task.name!r} failed: {found.message}")


def _space_of(task: KernelTask) -> TunableSpace:
    return task.space if task.space.tunables else declared_space(task, task.baseline.source)


def _choose(
    task: KernelTask, space: TunableSpace, limit: int | None
) -> dict[ConfigurationKey, Candidate]:
    """Allowed candidates by key, the baseline first; at most `limit` of them."""
    baseline = task.baseline.tunables
    space.check(baseline)
    shape = task.timed_workload.shape
    configurations: list[dict[str, Scalar]] = [
        configuration
        for configuration in space.configurations(shape)
        if task.allows(space, configuration)
    ]
    keys = [configuration_key(configuration) for configuration in configurations]
    if configuration_key(baseline) not in keys:
        raise InputError(f"the baseline of task {task.name!r} is excluded by its own `where`")
    if limit is not None and limit < len(configurations):
        drawn = sorted(keys, key=lambda key: seed_from("record", str(key)))[: max(0, limit - 1)]
        kept = {configuration_key(baseline), *drawn}
        configurations = [c for c in configurations if configuration_key(c) in kept]
    ordered = [dict(baseline), *configurations]
    return {
        configuration_key(c): Candidate(source=task.baseline.source, tunables=c) for c in ordered
    }


def _measure(
    evaluator: Evaluator, todo: Mapping[ConfigurationKey, Candidate], parallel: int
) -> Iterator[RecordedConfiguration]:
    """Yield records in the order in which they finish; nothing keeps running if the caller stops.

    After a WorldError, measurements that had finished are still yielded before it is raised.
    """
    broken: WorldError | None = None
    pool = ThreadPoolExecutor(max_workers=max(1, parallel), thread_name_prefix="record")
    with contextlib.ExitStack() as stack:
        stack.callback(pool.shutdown, wait=True, cancel_futures=True)
        futures: dict[Future[Evaluation], Candidate] = {
            pool.submit(evaluator.evaluate, candidate): candidate for candidate in todo.values()
        }
        for future in as_completed(futures):
            if future.cancelled():
                continue
            try:
                evaluation = future.result()
            except WorldError as error:
                broken = broken or error
                for waiting in futures:
                    waiting.cancel()
                continue
            yield to_record(futures[future], evaluation)
    if broken is not None:
        raise broken


def to_record(candidate: Candidate, evaluation: Evaluation) -> RecordedConfiguration:
    """The record of an evaluation, rounded as it will be written."""
    timing, verification, build = evaluation.timing, evaluation.verification, evaluation.build
    seconds = build.seconds if build else None
    log = build.log if build and evaluation.status == "compile_failed" else ""
    measured = evaluation.measured and timing is not None
    return RecordedConfiguration(
        configuration=dict(candidate.tunables),
        status=evaluation.status,
        message="" if measured else _shorten(evaluation.message, log),
        runtimes_us=_runtimes(timing.heaviest) if measured and timing else (),
        shapes=_shapes(timing) if measured and timing else (),
        host_us=rounded(timing.host_us) if measured and timing and timing.host_us else None,
        compile_seconds=None if seconds is None else rounded(seconds),
        verification_rounds=verification.rounds if verification else 0,
        max_error=_rounded(verification.max_error) if verification else None,
        worst_ratio=_rounded(verification.worst_ratio) if verification else None,
        energy=evaluation.energy,
        timestamp=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    )


def _runtimes(latency: Latency) -> tuple[float, ...]:
    return tuple(rounded(us) for us in latency.samples_us or (latency.median_us,))


def _shapes(timing: Timing) -> tuple[RecordedShape, ...]:
    return tuple(
        RecordedShape(
            workload=shape.workload, weight=rounded(shape.weight, 12), runtimes_us=_runtimes(shape)
        )
        for shape in timing.shapes
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else rounded(value)


def _shorten(message: str, log: str) -> str:
    text = message if not log or log in message else f"{message}\n{log}"
    return cut(text, MESSAGE_LENGTH)


def _profile(
    evaluator: Evaluator,
    wanted: Mapping[ConfigurationKey, Candidate],
    records: dict[ConfigurationKey, RecordedConfiguration],
    *,
    keep: Callable[[RecordedConfiguration], None],
    tell: Callable[[Progress], None],
) -> None:
    """Add counters and SASS facts to every measured record that has neither yet."""
    measured = [key for key in wanted if records[key].measured]
    todo = [key for key in measured if not records[key].metrics and not records[key].sass]
    count = len(measured) - len(todo)
    size = PROFILE_BATCH * evaluator.devices
    for start in range(0, len(todo), size):
        batch = todo[start : start + size]
        candidates = [wanted[key] for key in batch]
        for key, profile in zip(batch, evaluator.profile_many(candidates), strict=True):
            records[key] = with_profile(records[key], profile)
            keep(records[key])
        count += len(batch)
        tell(Progress("profile", count, len(measured)))


def with_profile(record: RecordedConfiguration, profile: Profile) -> RecordedConfiguration:
    """`record` with the counters and facts of `profile`; launches of one kernel are numbered."""
    metrics: dict[str, dict[str, Metric]] = {}
    sass = {}
    seen: dict[str, int] = {}
    launches: dict[str, int] = {}
    for kernel in profile.kernels:
        seen[kernel.name] = seen.get(kernel.name, 0) + 1
        times = seen[kernel.name]
        name = kernel.name if times == 1 else f"{kernel.name}#{times}"
        if kernel.launches > 1:
            launches[name] = kernel.launches
        if kernel.metrics:
            metrics[name] = {
                metric: Metric(value=rounded(found.value, 5), unit=found.unit)
                for metric, found in kernel.metrics.items()
            }
        if kernel.sass is not None:
            sass[name] = kernel.sass
    return replace(record, metrics=metrics, sass=sass, launches=launches)


def _recording(
    task: KernelTask,
    evaluator: Evaluator,
    space: TunableSpace,
    records: Sequence[RecordedConfiguration],
) -> Recording:
    return Recording(
        origin=f"{task.name}.json.gz",
        hardware=evaluator.hardware,
        recorded_on=datetime.now(UTC).date().isoformat(),
        tunables={name: tunable.values for name, tunable in space.tunables.items()},
        configurations=tuple(records),
        task_name=task.name,
        task_id=task.id,
        source_hash=tagged_hash("source", task.baseline.source),
        baseline=dict(task.baseline.tunables),
    )
