"""`rooftree check`: what can be said of a task before a GPU is asked.

The plan on every workload, the reference on the smallest, the compiler on a sample of variants, and
each launch's arguments beside the kernel's own parameters. What was not checked is said.
"""

from __future__ import annotations

import contextlib
import math
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

from experiments.app.doctor import Check, Level
from experiments.runs.tasks.checks import unknown_methods
from experiments.text.words import counted
from mcts.domain import Candidate, KernelTask, Scalar, Workload, parse_launch_plan
from mcts.errors import InputError, WorldError

MOST_LAUNCHED = 4096
"""Combinations of values whose launches are evaluated; of larger spaces so many, drawn evenly."""
_MOST_KINDS = 3
_COMPILERS = 4

Say = Callable[[str], None]
_SLOW_S = 2.0


def check_task(
    task: KernelTask, *, variants: int, arch: str, seed: int, say: Say
) -> Iterator[Check]:
    """What is right, wrong and unknown of a task that could be read, as it is found."""
    if task.dialect.in_pytorch:
        yield Check("problem file", "ok", "it can be read: Model, get_inputs, get_init_inputs")
        yield _not_checked("whether its model can be judged, and on which inputs")
        return
    allowed, all_held = _allowed(task)
    yield _space(task, allowed, all_held=all_held)
    yield from _methods(task)
    if task.dialect.has_source and allowed:
        sample = _sample(allowed, MOST_LAUNCHED, seed)
        yield from _buffers(task)
        yield from _launches(task, sample, arch)
        yield from _reference(task, say)
        yield from _compiled(task, _sample(allowed, variants, seed + 1), arch, say)
    yield _not_checked("whether results are right, and every time")


def _not_checked(what: str) -> Check:
    return Check("not checked", "note", f"{what}: that needs a GPU (rooftree evaluate)")


def _allowed(task: KernelTask) -> tuple[list[dict[str, Scalar]], bool]:
    """The combinations that exist, the defaults first, and whether these are all: of a space that
    is too large to hold, the defaults alone.
    """
    from codegen.scripted.encoded_space import EncodedSpace

    encoded = EncodedSpace(task.space, task)
    default = task.space.default()
    if encoded.rows is None:
        return [default], False
    found = [encoded.decode(row) for row in encoded.rows]
    return ([default, *(values for values in found if values != default)] if found else []), True


def _space(task: KernelTask, allowed: Sequence[dict[str, Scalar]], *, all_held: bool) -> Check:
    space = task.space
    if not space.tunables:
        return Check("space", "note", "no tunables: only a language model can make variants of it")
    if not allowed:
        return Check("space", "problem", "`where` excludes every combination on some workload")
    if not all_held:
        bits = math.log2(space.size)
        return Check("space", "ok", f"2^{bits:.0f} combinations before `where`: too many to count")
    left_out = f" of {space.size:,}, `where` excludes the rest" if len(allowed) < space.size else ""
    names = ", ".join(space.tunables)
    return Check(
        "space", "ok", f"{counted(len(allowed), 'combination')}{left_out}; tunables: {names}"
    )


def _methods(task: KernelTask) -> Iterator[Check]:
    """Methods that no playbook knows, and tunables that name none."""
    wrong = unknown_methods(task.space)
    silent = [name for name, tunable in task.space.tunables.items() if not tunable.methods]
    if wrong:
        yield Check("methods", "problem", "; ".join(wrong))
    if silent:
        yield Check(
            "methods", "note",
            f"{', '.join(silent)}: no methods are named, so no advice leads to other values",
        )  # fmt: skip


def _buffers(task: KernelTask) -> Iterator[Check]:
    """Outputs that nothing is told of, and inputs that the plan would overwrite."""
    launches = parse_launch_plan(task.baseline.source).launch
    passed = {word for step in launches for word in step.passed}
    filled = {step.memset for step in launches}
    wrong = [
        f"output {buffer.name!r} is passed to no launch"
        for buffer in task.outputs
        if buffer.name not in passed | filled
    ]
    wrong += [f"input {buffer.name!r} is zeroed" for buffer in task.inputs if buffer.name in filled]
    if wrong:
        yield Check("buffers", "problem", "; ".join(wrong))
    idle = [buffer.name for buffer in task.inputs if buffer.name not in passed]
    if idle:
        yield Check("buffers", "note", f"passed to no launch: {', '.join(idle)}")


def _launches(task: KernelTask, sample: Sequence[dict[str, Scalar]], arch: str) -> Iterator[Check]:
    """The plan's launches, on every workload, with many combinations."""
    from profilers.compiling.limits import most_shared
    from profilers.compiling.lowering import lower

    plan = parse_launch_plan(task.baseline.source)
    wrong: Counter[str] = Counter()
    most = most_shared(arch)
    shared = 0
    for values in sample:
        for workload in task.workloads:
            try:
                call = lower(task, plan, values, workload)
            except InputError as error:
                wrong[f"{_values(values, task)}: {error}"] += 1
                continue
            needs = max((step.shared for step in call.launches), default=0)
            shared += needs > most
    what = f"{counted(len(sample), 'combination')} on {counted(len(task.workloads), 'workload')}"
    if wrong:
        first = next(iter(wrong))
        yield Check("plan", "problem", f"{sum(wrong.values())} launches are impossible, {first}")
    else:
        yield Check("plan", "ok", f"{what}: grids and blocks are valid")
    if shared:
        yield Check(
            "shared memory", "problem" if shared == len(sample) * len(task.workloads) else "note",
            f"{shared} of {len(sample) * len(task.workloads)} calls ask for more than the "
            f"{most // 1024} KiB that a block may have on {arch}: exclude them by `where`",
        )  # fmt: skip


def _reference(task: KernelTask, say: Say) -> Iterator[Check]:
    """The reference on the smallest workload, and what it says of the task."""
    from profilers.cuda.gate import check_task as gate
    from profilers.cuda.gate import smallest
    from profilers.cuda.reference import NumpyReference

    workload = smallest(task)
    say(f"running the reference several times on workload {workload.name}")
    runs = 0

    def reference(inputs: Mapping[str, Any], workload: Workload) -> Mapping[str, Any]:
        nonlocal runs
        if runs and (took := time.perf_counter() - begin) > _SLOW_S:
            say(f"{counted(runs, 'run')} of the reference in {took:.0f} s, and another")
        runs += 1
        return runner(inputs, workload)

    try:
        with contextlib.redirect_stdout(sys.stderr):  # what it prints is no verdict
            runner = NumpyReference(task)
            begin = time.perf_counter()
            notes = gate(task, reference)
    except InputError as error:
        yield Check("reference", "problem", str(error))
        return
    took = time.perf_counter() - begin
    ran = f"{counted(runs, 'run')} on workload {workload.name} in {took:.1f} s"
    yield Check("reference", "ok", ran)
    for note in notes:
        yield Check("reference", "note", note)


def _compiled(
    task: KernelTask, sample: Sequence[dict[str, Scalar]], arch: str, say: Say
) -> Iterator[Check]:
    """The defaults and a sample of variants through the compiler, their arguments, and whether a
    GPU takes them.
    """
    from profilers.compiling.building import Failed, build
    from profilers.compiling.compiler import Compiler, UnknownArchitecture
    from profilers.compiling.cubin import kernel_needs
    from profilers.compiling.limits import beyond

    def fault(values: dict[str, Scalar]) -> str | None:
        candidate = Candidate(source=task.baseline.source, tunables=values)
        try:
            built = build(task, compiler, candidate)
        except Failed as failed:
            return str(failed)
        needs = kernel_needs(built.compiled.cubin.read_bytes())
        for workload, call in built.calls.items():
            for number, step in enumerate(call.steps, start=1):
                for wrong in beyond(step, number, needs, arch=arch):
                    return f"on workload {workload}: {wrong}"
        return None

    say(f"compiling {counted(len(sample), 'variant')} for {arch}")
    with closing(Compiler(arch=arch, processes=_COMPILERS)) as compiler:
        try:
            with ThreadPoolExecutor(_COMPILERS) as pool:
                faults = list(pool.map(fault, sample))
        except UnknownArchitecture as error:
            raise InputError(f"--arch {arch}: {error}") from None
        except WorldError as error:
            yield Check(
                "compiler", "note",
                f"nothing was compiled, and neither kernels' names nor their parameters were "
                f"compared with the plan: {error}",
            )  # fmt: skip
            return
    kinds: dict[str, list[dict[str, Scalar]]] = {}
    for values, said in zip(sample, faults, strict=True):
        if said is not None:
            kinds.setdefault(said, []).append(values)
    if not kinds:
        compiled = f"{counted(len(sample), 'variant')} compiled for {arch}"
        yield Check("compiler", "ok", f"{compiled}; arguments and blocks fit the kernels")
        return
    limited = [values for said, failing in kinds.items() if _is_limit(said) for values in failing]
    few = sample[0] not in limited and 2 * len(limited) <= len(sample)
    noted = {said for said in kinds if few and _is_limit(said)}
    ordered = sorted(kinds.items(), key=lambda kind: (kind[0] in noted, -len(kind[1])))
    for said, failing in ordered[:_MOST_KINDS]:
        yield Check(
            "compiler", "note" if said in noted else "problem",
            f"{len(failing)} of {len(sample)} variants, such as {_values(failing[0], task)}: "
            f"{said}{'; exclude such by `where`, or a search tries them' if said in noted else ''}",
        )  # fmt: skip
    if more := ordered[_MOST_KINDS:]:
        level: Level = "note" if more[0][0] in noted else "problem"
        yield Check("compiler", level, f"{len(more)} more kinds of errors")


def _is_limit(said: str) -> bool:
    """Whether a variant asks for too much, by the GPU or the kernel's author, and is no mistake."""
    return said.startswith("on workload ") or "static assertion failed" in said


def _values(values: dict[str, Scalar], task: KernelTask) -> str:
    """What tells a combination from the defaults."""
    default = task.space.default()
    changed = [f"{name} = {value}" for name, value in values.items() if value != default[name]]
    return ", ".join(changed) or "the defaults"


def _sample(
    allowed: Sequence[dict[str, Scalar]], most: int, seed: int
) -> Sequence[dict[str, Scalar]]:
    """The defaults and as many others, drawn evenly, as there may be."""
    if len(allowed) <= most:
        return allowed
    others = random.Random(seed).sample(range(1, len(allowed)), most - 1)
    return [allowed[0], *(allowed[at] for at in sorted(others))]
