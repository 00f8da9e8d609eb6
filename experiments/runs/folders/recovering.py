"""A new run folder from what is left of one: whose journal is damaged, or was deleted meanwhile."""

from __future__ import annotations

import shlex
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path

from experiments.runs.folders import event_table
from experiments.runs.folders.event_table import JournalDamaged, Row
from experiments.runs.folders.journal import DATABASE, JournalLost, SqliteJournal, stored_rows
from experiments.runs.folders.journal_file import LOCK
from experiments.runs.options.config import CONFIG_FILE
from experiments.runs.options.run_hints import RESULTS
from mcts.errors import InputError
from mcts.formats import SQLITE_ERRORS

_NOT_COPIED = (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", LOCK, *RESULTS)
"""The journal is written anew, and what was made of the damaged one may be wrong."""
_MOST_NAMES = 100


@dataclass(frozen=True, slots=True)
class Recovered:
    """How many events a recovered run has, and why there are no more."""

    events: int
    problem: str


def recover(run_dir: Path, target: Path) -> Recovered:
    """Copy a run whose journal is damaged to `target`, with the events before the first damage.

    `run_dir` stays as it is. InputError if `target` is not free, if the journal is sound, or if
    not even its first event is.
    """
    _check_free(target, run_dir)
    rows = _SoundRows(stored_rows(run_dir), run_dir / DATABASE)
    if (first := next(rows, None)) is None:
        raise InputError(
            f"nothing can be recovered of {run_dir}: {rows.problem or 'its journal is empty'}"
        )
    kept = [first, *rows]
    if not rows.problem:
        raise InputError(
            f"the journal of {run_dir} is sound, all {len(kept)} events: there is nothing to "
            "recover"
        )
    _copy(run_dir, target, kept)
    return Recovered(len(kept), rows.problem)


@contextmanager
def rescued(journal: SqliteJournal, run_dir: Path) -> Iterator[None]:
    """If the journal's file is lost within the block, keep its events in a new folder and say
    which: JournalLost.

    What SQLite has open can be read as long as this process lives, whatever became of its name.
    """
    try:
        yield
    except JournalLost as error:
        raise JournalLost(f"{error}; {_rescue(journal, run_dir)}") from None


def _rescue(journal: SqliteJournal, run_dir: Path) -> str:
    """Write the events of a lost journal where there is room; returns what to say of it."""
    try:
        rows = list(_SoundRows(journal.rows(), run_dir / DATABASE))
        target = _copy_where_possible(run_dir, rows)
    except (OSError, *SQLITE_ERRORS) as error:
        return f"they could not be kept elsewhere either: {error}"
    place = shlex.quote(str(target))
    report = f"rooftree report {place}"
    if (target / CONFIG_FILE).is_file():
        return f"they are kept in {target}: {report}, or go on with: rooftree resume {place}"
    return f"they are kept in {target}, where the task is not: {report}"


def _copy_where_possible(run_dir: Path, rows: list[Row]) -> Path:
    """Copy the run beside its folder, or else to the folder for temporary files."""
    beside = run_dir.absolute()
    names = (beside.with_name(f"{beside.name}-rescued{end}") for end in _endings())
    target = next(name for name in names if not name.exists())
    try:
        _copy(run_dir, target, rows)
    except OSError:
        target = Path(tempfile.mkdtemp(prefix="rooftree-rescued-"))
        _copy(run_dir, target, rows)
    return target


def _endings() -> Iterator[str]:
    yield ""
    yield from (f"-{number}" for number in islice(count(2), _MOST_NAMES))


def _copy(run_dir: Path, target: Path, rows: Iterable[Row]) -> None:
    """Make `target` a run folder with these events and all else that is left of the run.

    Events come first: a folder that has a configuration and none of them would begin anew.
    """
    made = not target.exists()
    try:
        target.mkdir(parents=True, exist_ok=True)
        event_table.write_all(target / DATABASE, rows)
        if run_dir.is_dir():
            ignore = shutil.ignore_patterns(*_NOT_COPIED)
            shutil.copytree(run_dir, target, ignore=ignore, symlinks=True, dirs_exist_ok=True)
    except BaseException:
        if made:
            shutil.rmtree(target, ignore_errors=True)
        raise


def _check_free(target: Path, run_dir: Path) -> None:
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise InputError(f"{target} is there already: name a new folder for the recovered run")
    if target.absolute().is_relative_to(run_dir.absolute()):
        raise InputError(f"{target} is in the run itself: name a folder outside {run_dir}")


class _SoundRows(Iterator[Row]):
    """Rows up to the first that is damaged; `problem` then says what it is."""

    def __init__(self, rows: Iterator[Row], path: Path) -> None:
        self._rows, self._path = rows, path
        self.problem = ""

    def __next__(self) -> Row:
        if self.problem:
            raise StopIteration
        try:
            row = next(self._rows)
            next(event_table.events([row], self._path))
        except JournalDamaged as error:
            self.problem = error.what
            raise StopIteration from None
        return row
