"""Tasks on disk: a folder with `task.toml`, a KernelBench problem file, or a T4 recording."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError, field_validator

from experiments.runs.tasks.checks import check_baseline, check_reference, check_sizes, naming
from experiments.runs.tasks.problems import is_problem, kernel_space, problem_dialect, problem_task
from experiments.text.words import did_you_mean
from mcts.domain import (
    CUDA,
    Buffer,
    Candidate,
    Cost,
    Dialect,
    DialectField,
    KernelTask,
    Noun,
    Policy,
    Regressions,
    Tolerance,
    TunableSpace,
    Workload,
    first_problem,
)
from mcts.domain.task import check_buffer_names
from mcts.errors import InputError
from mcts.formats import FormatError, parse_toml

TASK_FILE = "task.toml"
RECORDING_SUFFIXES = (".json", ".json.gz")
_SUFFIXES = (".py", ".json", ".gz")
_PLAIN_NAME = r"^[A-Za-z0-9_-][A-Za-z0-9_.-]*$"
_TASKS = Path(__file__).parents[2] / "data" / "tasks"


class TaskFile(Noun):
    """`task.toml` as written: sources by file name, a table for each buffer and workload."""

    name: str = Field(pattern=_PLAIN_NAME)
    dialect: DialectField = CUDA
    summary: str = ""
    kernel: str = Field(default="kernel.cu", pattern=_PLAIN_NAME)
    reference: str = Field(default="reference.py", pattern=_PLAIN_NAME)
    buffer: tuple[Buffer, ...] = Field(min_length=1)
    workload: tuple[Workload, ...] = Field(min_length=1)
    cost: Cost | None = None
    tolerance: Tolerance = Tolerance()
    regressions: Regressions = "refused"

    @field_validator("buffer")
    @classmethod
    def _each_has_its_name(cls, buffers: tuple[Buffer, ...]) -> tuple[Buffer, ...]:
        check_buffer_names(buffers)
        return buffers

    @field_validator("dialect")
    @classmethod
    def _declares_buffers(cls, dialect: Dialect) -> Dialect:
        if dialect.in_pytorch or not dialect.has_source:
            raise ValueError(f"a task of dialect {dialect} is a single file, not a folder")
        return dialect


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSource:
    """A task and the files it came from; `given` is how the user named it.

    `folder` is a task folder, None for other tasks. `problem` is a KernelBench problem file and
    `kernel` the host candidate to begin with, if one was given. `recordings` can be replayed; the
    newest, by name, is the last.
    """

    task: KernelTask
    given: str
    folder: Path | None = None
    problem: Path | None = None
    kernel: Path | None = None
    recordings: tuple[Path, ...] = ()


def load_task(folder: Path) -> KernelTask:
    """Read a task folder. InputError names the file and the field that are wrong."""
    file = read_task_file(folder)
    source = read_text(folder / file.kernel)
    reference = read_text(folder / file.reference)
    check_reference(reference, folder / file.reference)
    space = _read_space(source, folder / file.kernel, file)
    try:
        task = KernelTask(
            name=file.name,
            dialect=file.dialect,
            summary=file.summary,
            baseline=Candidate(source=source, tunables=space.default()),
            reference=reference,
            buffers=file.buffer,
            workloads=file.workload,
            cost=file.cost,
            tolerance=file.tolerance,
            regressions=file.regressions,
            space=space,
        )
    except ValidationError as error:
        raise InputError(f"{folder / TASK_FILE}: {first_problem(error)}") from None
    check_sizes(task, folder / TASK_FILE)
    check_baseline(task, folder / file.kernel)
    return task


def read_task_file(folder: Path) -> TaskFile:
    """Read and check `task.toml`, without the files that it names. InputError if it is wrong."""
    path = folder / TASK_FILE
    try:
        table: dict[str, Any] = parse_toml(read_text(path))
    except FormatError as error:
        raise InputError(f"{path} is not TOML: {error}") from None
    try:
        return TaskFile.model_validate(table)
    except ValidationError as error:
        raise InputError(f"{path}: {first_problem(error, TaskFile, table=table)}") from None


def bundled() -> dict[str, Path]:
    """The folders of the tasks that come with Rooftree, by name."""
    folders = sorted(_TASKS.iterdir()) if _TASKS.is_dir() else []
    return {folder.name: folder for folder in folders if (folder / TASK_FILE).is_file()}


def bundled_recordings(name: str) -> list[Path]:
    """The recordings with this file name that come with Rooftree."""
    paths = [folder / "recordings" / name for folder in bundled().values()]
    return [path for path in paths if path.is_file()]


def find_task(
    given: str,
    policy: Policy | None = None,
    dialect: str | None = None,
    kernel: Path | None = None,
) -> TaskSource:
    """Resolve a bundled task's name, a task folder, a KernelBench problem file or a T4 file.

    `policy`, `dialect` and `kernel` are for problem files only. Raises InputError if one is given
    for another task, or, with the closest known names, if there is no such task.
    """
    if not is_problem(Path(given)):
        _refuse_problem_options(
            policy=policy not in (None, Policy()),
            dialect=dialect is not None,
            kernel=kernel is not None,
        )
    path = Path(given)
    if given in bundled():
        if (path / TASK_FILE).is_file():
            raise InputError(
                f"{given} is a bundled task and a task folder here: ./{given} is the folder; give "
                "it another name to have both"
            )
        return _folder_source(bundled()[given], given)
    if given and path.is_dir():
        if not (path / TASK_FILE).is_file():
            raise InputError(f"{path} is not a task folder: it has no {TASK_FILE}")
        return _folder_source(path, given)
    if path.is_file():
        if is_problem(path):
            return problem_source(path, given, policy or Policy(), dialect=dialect, kernel=kernel)
        if not path.name.endswith(RECORDING_SUFFIXES):
            raise InputError(
                f"{path} is neither a task folder, a KernelBench problem (.py) nor a recording "
                "(.json, .json.gz)"
            )
        return recording_source(path, given)
    raise InputError(_unknown(given))


def _refuse_problem_options(**is_given: bool) -> None:
    """Raise InputError for the first option that is given."""
    for name, given in is_given.items():
        if given:
            hint = "; an input of a task folder says `tf32 = true`" if name == "policy" else ""
            raise InputError(f"--{name} is for KernelBench problem files (.py){hint}")


def problem_source(
    path: Path,
    given: str,
    policy: Policy,
    name: str | None = None,
    *,
    dialect: str | None = None,
    kernel: Path | None = None,
) -> TaskSource:
    """A KernelBench problem file as a task, under another name if one is given.

    `kernel` is a host candidate to begin with, in place of the problem's model. InputError if a
    file is not what it should be.
    """
    source = None
    if kernel is not None:
        source = read_text(kernel)
        with naming(kernel):
            kernel_space(source)
    task = problem_task(read_text(path), path, policy, problem_dialect(dialect), kernel=source)
    if name is not None:
        task = task.model_copy(update={"name": name})
    return TaskSource(task=task, given=given, problem=path, kernel=kernel)


def recording_source(path: Path, given: str) -> TaskSource:
    """A T4 file as a task of its own, whose space is the recorded one."""
    from profilers.recordings.replay import task_from_recording
    from profilers.recordings.t4 import load_recording

    task = task_from_recording(load_recording(path))
    return TaskSource(task=task, given=given, recordings=(path,))


def _folder_source(folder: Path, given: str) -> TaskSource:
    recordings = sorted(
        path for path in (folder / "recordings").glob("*") if path.name.endswith(RECORDING_SUFFIXES)
    )
    return TaskSource(
        task=load_task(folder), given=given, folder=folder, recordings=tuple(recordings)
    )


def _unknown(given: str) -> str:
    """The message for a task that is not found, with names that are close to it."""
    if "/" in given or given.endswith(_SUFFIXES):
        return f"{given} does not exist"
    names = list(bundled())
    hint = did_you_mean(given, names, most=2, behind=" ")
    return (
        f"unknown task {given!r}: {hint}bundled tasks are {', '.join(names)}; "
        "or give a task folder, a KernelBench problem file or a T4 recording"
    )


def read_text(path: Path) -> str:
    """A source file's text. InputError if it cannot be read or is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"{path} does not exist") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text: byte {error.start}") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None


def _read_space(source: str, path: Path, file: TaskFile) -> TunableSpace:
    """The tunables that the kernel declares. InputError if its plan uses an undeclared name."""
    buffers = frozenset(item.name for item in file.buffer)
    with naming(path):
        space = file.dialect.space_of(source) or TunableSpace()
        file.dialect.check_names(source, buffers=buffers, shape=frozenset(file.workload[0].shape))
    return space
