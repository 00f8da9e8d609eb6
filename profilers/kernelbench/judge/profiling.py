"""The profile of a PyTorch or host candidate: counters, machine code, a timeline, the roofline.

First a call is traced in a worker like any other, which shows what runs and whether it ends; then
the same call runs under ncu in a process of its own. The candidate's code runs in both processes,
so the result is a claim: it serves as advice, and no verdict depends on it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

from pydantic import ValidationError

from mcts.domain import Candidate, ModelStep, ModuleTimes, Profile, SassFacts, Work
from mcts.errors import RooftreeError
from mcts.ports import StageObserver
from profilers import ncu
from profilers.children.processes import ChildGone
from profilers.children.protocol import RequestRefused
from profilers.compiling.building import Failed
from profilers.compiling.compiler import architecture
from profilers.kernelbench.judge.building import BuiltModule
from profilers.kernelbench.judge.clients import WorkerClient
from profilers.kernelbench.judge.counters import (
    CounterResult,
    ReadyProfiler,
    collect_counters,
)
from profilers.kernelbench.judge.libraries import is_library
from profilers.kernelbench.judge.replies import CallTrace, read_trace
from profilers.kernelbench.judge.verdicts import Unfaithful
from profilers.kernelbench.judge.workplace import KernelBenchWorkplace
from profilers.kernelbench.shared.profiling_spec import ProfilingSpec
from profilers.profiles.launches import kernel_profiles
from profilers.profiles.profiling import SASS, TIMELINE, profiled_us
from profilers.profiles.starts import enough_cores
from profilers.roofline import classify
from profilers.sandbox import Jail

CEILINGS = "ceilings"
"""Key in `Profile.missing` if the device's ceilings are not known."""
WORK = "work"
"""Key in `Profile.missing` if the least work of a call is not known."""
STEPS = "steps"
"""Key in `Profile.missing` if the operations of the model are not known."""
MODULES = "modules"
"""Key in `Profile.missing` if the candidate's submodules could not be timed."""
TRACED_CALLS = 3

ReadMachineCode = Callable[[Candidate], "MachineCode"]
_DEADLINE_S = 60.0
_MOST_KERNELS = 200


def profile_model(
    place: KernelBenchWorkplace,
    candidate: Candidate,
    *,
    time_us: float | None,
    tell: StageObserver,
    read_machine_code: ReadMachineCode,
    call_s: float,
) -> Profile:
    """What the hardware did for a measured candidate. WorldError if the world is broken."""
    tell(candidate.id, "compiling")
    missing: dict[str, str] = {}
    if place.no_ceilings is not None:
        missing[CEILINGS] = place.no_ceilings
    seen, modules, counted = CallTrace(), None, CounterResult()
    with ThreadPoolExecutor(1, "rooftree-machine-code") as pool:
        reading: Future[MachineCode] | None = None
        try:
            built = place.builder.build(candidate)
            if place.gpu is None:
                raise _NotProfiled("there is no GPU here")
            tell(candidate.id, "profiling")
            with _ready_profiler(place, built) as ready:
                seen, modules = _trace(place, candidate, missing, call_s=call_s)
                # Not before, because some code is compiled at the first call.
                reading = pool.submit(read_machine_code, candidate)
                counted = _count(place, built, seen, time_us=time_us, ready=ready)
        except Failed as failed:
            counted.missing[ncu.TOOL] = f"not built: {failed}"
        except _NotProfiled as reason:
            counted.missing[ncu.TOOL] = str(reason)
            missing[TIMELINE] = str(reason)
        code = reading.result() if reading is not None else read_machine_code(candidate)
    place.builder.tidy(candidate)
    if code.missing is not None:
        missing[SASS] = code.missing
    host = place.task.dialect_of(candidate.source).compiles_libraries
    kernels, gaps = kernel_profiles(
        counted.launches,
        seen.launched,
        sass=code.facts,
        is_library=lambda name: is_library(name, host=host),
    )
    work = _least_work(place, missing)
    profile = Profile(
        kernels=kernels,
        timeline=seen.timeline,
        hardware=place.hardware,
        work=work,
        steps=_steps(place, candidate, missing),
        modules=modules,
        missing={**missing, **counted.missing, **gaps},
    )
    time_us = time_us if time_us is not None else profiled_us(profile)
    roofline = classify(work=work, profile=profile, time_us=time_us)
    return profile.model_copy(update={"roofline": roofline})


def _least_work(place: KernelBenchWorkplace, missing: dict[str, str]) -> Work | None:
    if place.gpu is None:
        return Work.of(place.task)
    try:
        return place.problem.least_work()
    except (RooftreeError, RequestRefused) as error:  # operations that PyTorch cannot count
        missing[WORK] = str(error)[:500]
        return None


def _steps(
    place: KernelBenchWorkplace, candidate: Candidate, missing: dict[str, str]
) -> tuple[ModelStep, ...]:
    """The steps of the problem's model, in the baseline's own profile."""
    if place.gpu is None or candidate.id != place.task.baseline.id:
        return ()
    try:
        return place.problem.steps()
    except (RooftreeError, RequestRefused) as error:  # a model that PyTorch cannot record
        missing[STEPS] = str(error)[:500]
        return ()


class _NotProfiled(Exception):
    """The text says why nothing of a call can be profiled."""


def _trace(
    place: KernelBenchWorkplace, candidate: Candidate, missing: dict[str, str], *, call_s: float
) -> tuple[CallTrace, ModuleTimes | None]:
    """What a call launches, and how long its submodules take. _NotProfiled if the candidate's
    process is lost or refuses."""
    modules = None
    try:
        with place.session(candidate, place.settings, call_s=call_s, tell=_tell_nobody) as session:
            place.load(session, candidate)
            with session.drawn(1) as ids:
                (inputs,) = session.place(ids)
                limit_s = place.settings.start_deadline_s + session.batch_s(2 * TRACED_CALLS)
                reply = session.worker.ask(
                    "record", inputs=inputs, calls=TRACED_CALLS, timeout_s=limit_s
                )
                modules = _modules(session.worker, missing, timeout_s=limit_s)
        seen = read_trace(reply, calls=TRACED_CALLS)
    except RequestRefused as refused:
        if refused.kind != "internal":
            raise _NotProfiled(f"it failed when it was traced: {_first(refused)}") from None
        missing[TIMELINE] = f"a call could not be traced: {_first(refused)}"
    except Unfaithful as unfaithful:
        missing[TIMELINE] = unfaithful.refusal.evidence
    except ChildGone as gone:
        raise _NotProfiled(f"its process was lost when it was traced: {gone}") from None
    else:
        if seen.left_out is not None:
            missing[TIMELINE] = f"of {TRACED_CALLS} calls {seen.left_out}"
        return seen, modules
    return CallTrace(), modules


def _modules(
    worker: WorkerClient, missing: dict[str, str], *, timeout_s: float
) -> ModuleTimes | None:
    """None without submodules, or where they cannot be timed, as `missing` says then."""
    try:
        told = worker.ask("modules", timeout_s=timeout_s)
        if not told["modules"]:
            return None
        return ModuleTimes.model_validate({name: told[name] for name in ModuleTimes.model_fields})
    except RequestRefused as refused:
        missing[MODULES] = f"it failed when its modules were timed: {_first(refused)}"
    except ChildGone as gone:
        missing[MODULES] = f"its process was lost when its modules were timed: {gone}"
    except (ValidationError, KeyError, TypeError):
        missing[MODULES] = "its process did not tell how long its modules take"
    return None


@contextmanager
def _ready_profiler(
    place: KernelBenchWorkplace, built: BuiltModule
) -> Iterator[ReadyProfiler | None]:
    """The profiler starts while a call is traced, as its start and the import of PyTorch take
    longer than that. None on a host with few cores, where they would delay that call.
    """
    if not enough_cores():
        yield None
        return
    spec, jail = _spec(place, built), _profiling_jail(place, built)
    with ReadyProfiler(spec, jail=jail, cwd=built.folder) as ready:
        yield ready


def _spec(place: KernelBenchWorkplace, built: BuiltModule) -> ProfilingSpec:
    return ProfilingSpec(
        problem=str(place.problem.path),
        candidate=str(built.source),
        device=place.device,
        seed=secrets.randbits(31),
        environment=built.environment,
    )


def _profiling_jail(place: KernelBenchWorkplace, built: BuiltModule) -> Jail:
    return place.jail(built, readable=(place.problem.path,))


def _count(
    place: KernelBenchWorkplace,
    built: BuiltModule,
    seen: CallTrace,
    *,
    time_us: float | None,
    ready: ReadyProfiler | None,
) -> CounterResult:
    traced_us = sum(item.us for item in seen.launched)
    return collect_counters(
        _spec(place, built),
        jail=_profiling_jail(place, built),
        cwd=built.folder,
        launched=seen.launched,
        call_us=max(traced_us, time_us or 0.0),
        ready=ready,
    )


def _tell_nobody(_candidate_id: str, _stage: object) -> None:
    pass


def _first(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:300]


@dataclass(frozen=True, slots=True)
class MachineCode:
    """Facts about machine code by kernel; `missing` says why there are none."""

    facts: Mapping[str, SassFacts] = field(default_factory=dict)
    missing: str | None = None


def compiled_machine_code(place: KernelBenchWorkplace, candidate: Candidate) -> MachineCode:
    """The machine code that the candidate's compilers left in its folder, read in a jail."""
    if place.gpu is None:
        return MachineCode(missing="there is no GPU that anything was compiled for")
    try:
        built = place.builder.build(candidate)
    except Failed as failed:
        return MachineCode(missing=str(failed))
    jail = Jail(readable=(built.folder, *place.settings.readable))
    worker = WorkerClient(place.fork_server, jail=jail, cwd=built.source.parent)
    try:
        reply = worker.ask(
            "disassemble", folder=str(built.folder),
            arch=architecture(place.gpu.compute_capability), timeout_s=_DEADLINE_S,
        )  # fmt: skip
        found = dict(list(dict(reply["sass"]).items())[:_MOST_KERNELS])
        facts = {str(name)[:300]: SassFacts.model_validate(one) for name, one in found.items()}
        return MachineCode(facts, None if facts else str(reply["missing"])[:500])
    except (RequestRefused, ChildGone) as error:
        return MachineCode(missing=f"the machine code was not read: {error}")
    except (ValidationError, KeyError, TypeError, ValueError):
        return MachineCode(missing="what read the machine code did not tell what it found")
    finally:
        worker.kill()
