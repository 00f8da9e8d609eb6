"""From a file to an inspection: live on a GPU, else replayed, else from machine code alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiments.inspect import kernels, machine_code, models, programs, recordings, reports
from experiments.inspect.building import built
from experiments.inspect.request import DEFAULT_ARCH, InspectRequest
from experiments.inspect.results import Inspection, Origin, as_one_part, parts_by_kernel
from experiments.inspect.targets import TAKE_ARGUMENTS, Target, identify
from experiments.runs.machines.machine import gpu_problem
from experiments.runs.tasks.checks import unknown_methods
from mcts.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from mcts.domain import KernelTask, Scalar
    from profilers.profiles.inspecting import Inspected

Progress = Callable[[str], None]


def inspect_file(request: InspectRequest, *, on_progress: Progress) -> Inspection:
    """Inspect the file of a request. InputError if it cannot be inspected."""
    target = identify(request.file, planned=request.plan is not None)
    _check_options(request, target)
    match target.kind:
        case "kernel":
            return _kernel(request, target, on_progress)
        case "program":
            return _program(request, target, on_progress)
        case "library":
            return _library(request, target, on_progress)
        case "model":
            return _model(request, target, on_progress)
        case "script":
            return _script(request, target, on_progress)
        case "executable" | "cubin":
            return _binary(request, target, on_progress)
    parts = reports.read(target, task=request.task)
    return Inspection(file=target.path, origin="report", parts=parts)


_KINDS = {
    "kernel": "device code",
    "program": "a program",
    "library": "host code without a main, which cannot be run",
    "model": "a PyTorch model",
    "script": "a Python program",
    "executable": "an executable",
    "cubin": "a cubin",
    "counters": "a report",
    "timeline": "a report",
}


def _check_options(request: InspectRequest, target: Target) -> None:
    """Refuse options that would do nothing for this kind of file."""
    runs = target.source is not None and target.kind != "library"
    for given, fits, name in (
        (request.args, target.kind in TAKE_ARGUMENTS, "arguments"),
        (request.plan, target.kind == "kernel", "--plan"),
        (request.values, target.kind in ("kernel", "program", "library"), "--set"),
        (request.task, target.kind in ("kernel", "model", "counters"), "--task"),
        (request.arch, target.kind not in ("model", "script"), "--arch"),
        (request.sass, target.kind not in ("model", "script"), "--sass"),
        (request.replay, runs, "--replay"),
        (request.save, runs, "--save"),
    ):
        if given and not fits:
            raise InputError(f"{request.file} is {_KINDS[target.kind]}: {name} would do nothing")


def _kernel(request: InspectRequest, target: Target, say: Progress) -> Inspection:
    assert target.source is not None
    kernel = kernels.read_kernel(
        target.path, target.source, plan=request.plan, task=request.task, values=request.values
    )
    for wrong in unknown_methods(kernel.spec.space) if kernel.spec else ():
        say(wrong)
    problem = kernel.lacks or gpu_problem(request.device)
    key = _RecordingKey(kernel.recorded_as, kernel.values, kernel.task)

    if request.replay is None and problem is None:
        if request.arch is not None:
            raise InputError(f"--arch {request.arch}: what is run here is compiled for this GPU")
        seen = kernels.measure(kernel, device=request.device, on_progress=say)
        _save(request, key, seen)
        return _as_inspection(target, seen, "live")
    _check_unmeasured(request, problem)
    if (recorded := _recorded(request, target, key)) is not None:
        return _as_inspection(target, recorded, "replayed")
    arch = _arch(request)
    say(f"compiling {target.path} for {arch}")
    profile = kernels.read_static(kernel, arch=arch, unmeasured=_why(problem))
    parts = parts_by_kernel(profile, work=kernel.work)
    return Inspection(file=target.path, origin="static", parts=parts, source=target.source)


def _program(request: InspectRequest, target: Target, say: Progress) -> Inspection:
    assert target.source is not None
    values = kernels.macros(request.values)
    key = _RecordingKey(target.source, programs.key_values(values, request.args))

    problem = gpu_problem(request.device)
    if request.replay is not None or problem is not None:
        _check_unmeasured(request, problem)
        if (recorded := _recorded(request, target, key)) is not None:
            return _as_inspection(target, recorded, "replayed")
    arch = _arch(request)
    say(f"building {target.path} for {arch}")
    with built(target.path, values, arch=arch, timeout_s=request.timeout_s) as executable:
        if problem is not None:
            profile = machine_code.read_static(
                executable,
                cubin=False,
                arch=arch,
                unmeasured=_why(problem),
                source=target.path,
            )
            return Inspection(
                file=target.path,
                origin="static",
                parts=parts_by_kernel(profile),
                source=target.source,
            )
        seen = _run(request, executable, say)
    _save(request, key, seen)
    return _as_inspection(target, seen, "live")


def _library(request: InspectRequest, target: Target, say: Progress) -> Inspection:
    """By its machine code alone: what launches its kernels is another file."""
    arch, values = _arch(request), kernels.macros(request.values)
    say(f"building {target.path} for {arch}")
    with built(target.path, values, arch=arch, timeout_s=request.timeout_s, library=True) as made:
        profile = machine_code.read_static(
            made,
            cubin=False,
            arch=arch,
            unmeasured=_why("the file has no main"),
            source=target.path,
        )
    parts = parts_by_kernel(profile)
    return Inspection(file=target.path, origin="static", parts=parts, source=target.source)


def _model(request: InspectRequest, target: Target, say: Progress) -> Inspection:
    assert target.source is not None
    model = models.read_model(target.path, target.source, task=request.task)
    key = _RecordingKey(model.recorded_as, {})
    if (inspection := _from_recording(request, target, key)) is not None:
        return inspection
    seen = models.measure(model, device=request.device, on_progress=say)
    _save(request, key, seen)
    return _as_inspection(target, seen, "live")


def _script(request: InspectRequest, target: Target, say: Progress) -> Inspection:
    assert target.source is not None
    key = _RecordingKey(target.source, programs.key_values({}, request.args))
    if (inspection := _from_recording(request, target, key)) is not None:
        return inspection
    seen = programs.measure_script(
        target.path, request.args, device=request.device, timeout_s=request.timeout_s,
        on_progress=say,
    )  # fmt: skip
    _save(request, key, seen)
    return _as_inspection(target, seen, "live")


def _from_recording(
    request: InspectRequest, target: Target, key: _RecordingKey
) -> Inspection | None:
    """What was recorded of Python, if that is asked for or there is no GPU here; else None.

    InputError if there is neither a GPU nor a recording: nothing can be read without running it.
    """
    problem = gpu_problem(request.device)
    if request.replay is None and problem is None:
        return None
    _check_unmeasured(request, problem)
    recorded = _recorded(request, target, key)
    if recorded is None:
        raise InputError(
            f"{target.path} is Python, which has to be run: {problem}; replay what was kept "
            "elsewhere by --save with --replay FILE"
        )
    return _as_inspection(target, recorded, "replayed")


def _binary(request: InspectRequest, target: Target, say: Progress) -> Inspection:
    problem = gpu_problem(request.device)
    if target.kind == "cubin":
        problem = "a cubin is no program"
    if problem is not None:
        profile = machine_code.read_static(
            target.path, cubin=target.kind == "cubin", arch=request.arch, unmeasured=_why(problem)
        )
        return Inspection(file=target.path, origin="static", parts=parts_by_kernel(profile))
    seen = _run(request, target.path, say)
    return _as_inspection(target, seen, "live")


def _as_inspection(target: Target, seen: Inspected, origin: Origin) -> Inspection:
    """What ran together is one part, be it a plan's call or a program's run."""
    parts = as_one_part(seen.profile, work=seen.work, time_us=seen.time_us)
    return Inspection(
        file=target.path, origin=origin, parts=parts, source=target.source,
        recorded_on=seen.recorded_on,
    )  # fmt: skip


def _run(request: InspectRequest, executable: Path, say: Progress) -> Inspected:
    return programs.measure(
        executable, request.args, device=request.device, timeout_s=request.timeout_s,
        on_progress=say,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _RecordingKey:
    """What a recording is asked for."""

    source: str
    values: dict[str, Scalar]
    task: KernelTask | None = None


def _recorded(request: InspectRequest, target: Target, key: _RecordingKey) -> Inspected | None:
    """The recording asked for, which must hold it; else one that lies beside the file."""
    if request.replay is not None:
        return recordings.replay(request.replay, key.source, key.values, task=key.task)
    return recordings.beside(target.path, key.source, key.values, task=key.task)


def _save(request: InspectRequest, key: _RecordingKey, seen: Inspected) -> None:
    if request.save is not None:
        recordings.save(request.save, key.source, key.values, seen)


def _check_unmeasured(request: InspectRequest, problem: str | None) -> None:
    """Nothing will be measured: refuse what asks for a measurement."""
    if request.save is not None:
        raise InputError(f"--save keeps what is measured, and nothing can be: {problem}")
    if request.device and request.replay is None:
        raise InputError(f"--device {request.device}: {problem}")


def _arch(request: InspectRequest) -> str:
    """What to compile for: what was asked for, else this machine's GPU, else the default."""
    if request.arch is not None or gpu_problem(request.device) is not None:
        return request.arch or DEFAULT_ARCH
    return programs.device_arch(request.device)


def _why(problem: str | None) -> str:
    return f"nothing was run: {problem}"
