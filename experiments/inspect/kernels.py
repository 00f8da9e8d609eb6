"""Device code: its plan, the values of its tunables, and its profile live, replayed or static."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from codegen.plan_text import canonical_source
from experiments.runs.tasks.checks import naming
from experiments.runs.tasks.files import TASK_FILE, find_task, read_text
from experiments.text.words import clean
from mcts.domain import (
    KernelProfile,
    KernelSpec,
    KernelTask,
    Profile,
    Scalar,
    Tunable,
    Work,
    find_plan_comment,
    parse_kernel_spec,
)
from mcts.errors import InputError

if TYPE_CHECKING:
    from profilers.profiles.inspecting import Inspected

_WOULD_ADD = "with one, counters, a timeline and a roofline can be measured on a GPU"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """Device code ready to be looked at.

    `spec` is None without a launch plan. `task` is the one it belongs to, if there is one.
    `plan` is the plan's text if it is not in the source. `lacks` says what keeps the kernel from
    being run, None if nothing does.
    """

    path: Path
    source: str
    values: dict[str, Scalar]
    spec: KernelSpec | None = None
    task: KernelTask | None = None
    lacks: str | None = None
    plan: str | None = None

    @property
    def recorded_as(self) -> str:
        """The text a recording goes by: the source, with the plan if that lies elsewhere.

        For the task's own kernel with other defaults that is the task's own source.
        """
        if self.plan is not None:
            return f"/* rooftree\n{self.plan}\n*/\n{self.source}"
        return self.source if self.task is None else canonical_source(self.task, self.source)

    @property
    def work(self) -> Work | None:
        """The least work of a call, if one kernel does all of it."""
        if self.spec is None or not self.spec.buffer or len(self.spec.kernels) != 1:
            return None
        return self.spec.work(dict(self.values))


def read_kernel(
    path: Path, source: str, *, plan: Path | None, task: str | None, values: Sequence[str]
) -> Kernel:
    """Read the plan, complete it from the task, and choose the tunables' values.

    The task is `task`, else that of a `task.toml` beside the file if the plan declares no
    buffers itself. Raises InputError, naming the file, for what is wrong.
    """
    if plan is None and find_plan_comment(source) is None:
        if task is not None:
            raise InputError(f"{path} has no launch plan, so --task cannot say how it is run")
        lacks = f"no launch plan (a /* rooftree ... */ comment, or --plan): {_WOULD_ADD}"
        return Kernel(path=path, source=source, values=macros(values), lacks=lacks)
    own_plan = read_text(plan) if plan else None
    with naming(plan or path):
        spec = parse_kernel_spec(source, plan=own_plan)
    owner = _task_of(path, spec, task)
    with naming(plan or path):
        if owner is not None:
            spec = KernelSpec.for_task(spec, owner)
        if spec.buffer:
            spec.check()
        chosen = choose(spec, values)
        kernel = Kernel(
            path=path, source=source, values=chosen, spec=spec, task=owner, plan=own_plan
        )
        _ = kernel.work  # a cost that names what nobody declares is told before anything runs
    if spec.buffer:
        return kernel
    return replace(kernel, lacks=f"no buffers in the plan ([[buffer]], or --task): {_WOULD_ADD}")


def _task_of(path: Path, spec: KernelSpec, named: str | None) -> KernelTask | None:
    if named is None and (spec.buffer or not (path.parent / TASK_FILE).is_file()):
        return None
    task = find_task(named or str(path.parent)).task
    if not task.dialect.has_source:
        raise InputError(f"--task {named}: a recorded space says nothing about buffers")
    return task


def choose(spec: KernelSpec, pairs: Sequence[str]) -> dict[str, Scalar]:
    """The plan's defaults with the given ``NAME=VALUE``. InputError for one that is not allowed."""
    space = spec.space
    chosen = space.default()
    for name, text in _pairs(pairs):
        declared = space.tunables.get(name, Tunable(values=(text,), default=text)).values
        chosen[name] = next((value for value in declared if str(value) == text), text)
    space.check(chosen)
    if spec.shape and not space.allows(chosen, spec.shape):
        listed = ", ".join(f"{name}={value}" for name, value in chosen.items())
        raise InputError(f"the plan's `where` excludes {listed}")
    return chosen


def macros(pairs: Sequence[str]) -> dict[str, Scalar]:
    """The given ``NAME=VALUE`` as macros for a compiler, whole numbers as such."""
    chosen: dict[str, Scalar] = {}
    for name, text in _pairs(pairs):
        if not (name.isidentifier() and name.isascii()):
            raise InputError(f"--set {name}={text}: {name!r} cannot be the name of a macro")
        chosen[name] = int(text) if text.isdecimal() and str(int(text)) == text else text
    return chosen


def _pairs(pairs: Sequence[str]) -> list[tuple[str, str]]:
    split = []
    for pair in pairs:
        name, found, text = pair.partition("=")
        if not found or not name:
            raise InputError(f"--set {pair!r}: write NAME=VALUE")
        split.append((name, text))
    return split


def measure(kernel: Kernel, *, device: int, on_progress: Callable[[str], None]) -> Inspected:
    """Compile, run and profile on this machine's GPU."""
    from profilers.profiles.inspecting import Inspector

    if kernel.spec is None or kernel.lacks:
        raise InputError(f"{kernel.path}: {kernel.lacks}")
    with (
        naming(kernel.path),
        Inspector(device=device, on_progress=on_progress) as inspector,
    ):
        return inspector.profile(kernel.source, kernel.spec, kernel.values)


def read_static(kernel: Kernel, *, arch: str, unmeasured: str) -> Profile:
    """What the machine code alone tells of the kernels the plan launches, else of every kernel.

    `unmeasured` says why nothing was measured. Raises InputError for code without kernels.
    """
    from profilers.profiles.inspecting import static_profile

    with naming(kernel.path):
        profile = static_profile(kernel.source, kernel.values, arch=arch, spec=kernel.spec)
        kernels = _launched(profile.kernels, kernel)
    missing = dict.fromkeys(profile.missing, unmeasured)
    return profile.model_copy(update={"kernels": kernels, "missing": missing})


def _launched(found: tuple[KernelProfile, ...], kernel: Kernel) -> tuple[KernelProfile, ...]:
    """The kernels that the plan launches, in its order; without a plan all, in the source's."""
    from profilers.kernel_names import bare_name

    if not found:
        raise InputError("it defines no __global__ kernel (a template counts where it is used)")
    if kernel.spec is None:
        plain = [item.model_copy(update={"name": bare_name(item.name)}) for item in found]
        return tuple(sorted(plain, key=lambda item: kernel.source.find(item.name)))
    known = {item.name: item for item in found}
    absent = [name for name in kernel.spec.kernels if name not in known]
    if absent:
        defined = ", ".join(clean(name) for name in known)
        hint = '; write extern "C" before it' if any("_Z" in name for name in known) else ""
        raise InputError(f"the plan launches {absent[0]!r}, the code defines {defined}{hint}")
    return tuple(known[name] for name in kernel.spec.kernels)
