"""The run folder: self-contained, so that a run outlives the files it was started from."""

from __future__ import annotations

import shlex
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from experiments.runs.folders.journal import DATABASE, is_begun
from experiments.runs.folders.journal_file import LOCK
from experiments.runs.folders.snapshot import write_snapshot
from experiments.runs.options.config import CONFIG_FILE, RunConfig, read_config, write_config
from experiments.runs.options.run_hints import has_results, lost_journal
from experiments.runs.tasks.files import (
    RECORDING_SUFFIXES,
    TASK_FILE,
    TaskSource,
    load_task,
    problem_source,
    read_task_file,
    recording_source,
)
from experiments.runs.tasks.problems import KERNEL_FILE, PROBLEM_FILE
from mcts.errors import InputError
from mcts.knowledge.base import Knowledge

_TASK = "task"


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Where a run keeps what: journal, configuration, the task's files, results.

    made: whether `create` made the folder itself, and not only what is in it.
    """

    path: Path
    made: bool = False

    @property
    def journal(self) -> Path:
        return self.path / DATABASE

    @property
    def config(self) -> RunConfig:
        return read_config(self.path / CONFIG_FILE)

    def write_config(self, config: RunConfig) -> None:
        write_config(self.path / CONFIG_FILE, config)

    def discard(self) -> None:
        """Remove what `create` and the run made; a folder that the user had stays, empty."""
        for item in self.path.iterdir():
            shutil.rmtree(item, ignore_errors=True)
            with suppress(OSError):
                item.unlink()
        if self.made:
            with suppress(OSError):
                self.path.rmdir()

    def check_journal(self) -> None:
        """InputError if the journal holds nothing though the run once had one.

        A folder that was left before its journal began passes: it can be resumed from the start.
        """
        if is_begun(self.journal):
            return
        log = self.journal.with_name(f"{DATABASE}-wal")
        emptied = log.is_file() and log.stat().st_size > 0 and not _size(self.journal)
        if emptied:
            raise lost_journal(self.path, though="a part of it is left")
        if has_results(self.path):
            raise lost_journal(self.path)

    def task(self, config: RunConfig) -> TaskSource:
        """The task as it was when the run began. InputError when its files are gone, or its
        recording has changed.
        """
        recording = config.recording.verified() if config.recording else None
        folder = self.path / _TASK
        if not folder.is_dir():
            if _is_of_recording(config):
                if recording is None:
                    raise InputError(f"{self.path} is damaged: the recording it began with is gone")
                return recording_source(recording, config.task)
            raise InputError(
                f"{self.path} is damaged: its folder {_TASK} is gone; put it back, or start a new "
                "run"
            )
        if (folder / PROBLEM_FILE).is_file():
            return problem_source(
                folder / PROBLEM_FILE, config.task, config.judging.policy, config.task_name,
                dialect=config.judging.dialect, kernel=_kernel(folder),
            )  # fmt: skip
        return TaskSource(
            task=load_task(folder),
            given=config.task,
            folder=folder,
            recordings=(recording,) if recording else (),
        )


def _is_of_recording(config: RunConfig) -> bool:
    """Whether a recording was given in place of a task; only such a run has no folder of one."""
    return Path(config.task).name.endswith(RECORDING_SUFFIXES)


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _kernel(folder: Path) -> Path | None:
    kernel = folder / KERNEL_FILE
    return kernel if kernel.is_file() else None


def create(
    source: TaskSource, config: RunConfig, *, knowledge: Knowledge | None = None, out: Path | None
) -> RunFolder:
    """Make a run folder with the task's files in it, what is known, and, last, the configuration.

    A folder with a configuration can be resumed, even if it was left before its journal began.
    Without `out` it is the next free `runs/<task>-<n>` under the current folder. InputError if
    `out` is there and not empty, or if another process makes a run there at the same moment.
    """
    folder = _next_free(source.task.name) if out is None else _claim(out)
    try:
        if source.folder is not None:
            _copy_task(source.folder, folder.path / _TASK)
        if source.problem is not None:
            (folder.path / _TASK).mkdir()
            shutil.copyfile(source.problem, folder.path / _TASK / PROBLEM_FILE)
        if source.kernel is not None:
            shutil.copyfile(source.kernel, folder.path / _TASK / KERNEL_FILE)
        known = write_snapshot(folder.path, knowledge or Knowledge())
        folder.write_config(config.model_copy(update={"knowledge": known}))
    except OSError:
        folder.discard()
        raise
    return folder


def _next_free(name: str) -> RunFolder:
    parent = Path("runs")
    parent.mkdir(exist_ok=True)
    number = 1
    while True:
        path = parent / f"{name}-{number}"
        try:
            path.mkdir()
        except FileExistsError:
            number += 1
        else:
            return _with_lock(RunFolder(path, made=True))


def check_free(path: Path) -> None:
    """Raise InputError unless `path` is absent or an empty folder."""
    if path.exists() and not path.is_dir():
        raise InputError(f"{path} is a file: give --out a new or empty folder")
    if (path / DATABASE).is_file():
        again = f"rooftree resume {shlex.quote(str(path))}"
        raise InputError(f"{path} already holds a run: {again}, or another --out")
    if path.is_dir() and any(path.iterdir()):
        raise InputError(f"{path} is not empty: give --out a new or empty folder")


def _claim(path: Path) -> RunFolder:
    check_free(path)
    try:
        path.mkdir(parents=True)
        made = True
    except FileExistsError:
        made = False
    try:
        return _with_lock(RunFolder(path, made=made))
    except FileExistsError:
        raise InputError(
            f"another rooftree process is making a run in {path}: give another --out"
        ) from None


def _with_lock(folder: RunFolder) -> RunFolder:
    """Whoever makes the lock file owns the folder. FileExistsError if somebody was first."""
    (folder.path / LOCK).open("x").close()
    return folder


def _copy_task(source: Path, target: Path) -> None:
    file = read_task_file(source)
    target.mkdir()
    for name in (TASK_FILE, file.kernel, file.reference):
        shutil.copyfile(source / name, target / name)
