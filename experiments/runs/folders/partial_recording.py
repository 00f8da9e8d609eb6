"""What a recording has measured so far, one JSON line each, so that a stopped one goes on."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Self, TextIO

from mcts.domain import KernelTask
from mcts.domain.tunables import ConfigurationKey
from mcts.errors import InputError
from mcts.formats import FormatError, parse_json

if TYPE_CHECKING:
    from profilers.recordings.recording import RecordedConfiguration


class PartialRecording:
    """A side file of the recording `target`; `done` is what an earlier attempt left in it.

    InputError when it belongs to another state of the task or to other hardware, or while another
    process records the same.
    """

    def __init__(self, target: Path, task: KernelTask, hardware: str) -> None:
        self.path = target.with_name(target.name + ".partial")
        self.done: dict[ConfigurationKey, RecordedConfiguration] = {}
        self._head = {"task_id": task.id, "hardware": hardware}
        self._stream = self._held()
        try:
            self._read()
        except BaseException:
            self._stream.close()
            raise
        if self._stream.seek(0, os.SEEK_END) == 0:
            self._write(json.dumps(self._head))

    def keep(self, record: RecordedConfiguration) -> None:
        """Append a record; a later one of the same configuration counts."""
        from profilers.recordings.t4_result import record_to_json

        self._write(json.dumps(record_to_json(record), allow_nan=False))

    def discard(self) -> None:
        """The recording is written: the side file is no longer needed."""
        self.path.unlink(missing_ok=True)  # before another process can hold it
        self._stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def _held(self) -> TextIO:
        """The file, open for this process alone."""
        while True:
            stream = self.path.open("a", encoding="utf-8")
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                    stream.close()
                    raise InputError(
                        f"{self.path} is in use by another rooftree process: wait for it, or give "
                        "another file to record to"
                    ) from None
                return stream  # a file system without locks
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(stream.fileno()), self.path.stat()):
                    return stream
            stream.close()  # its recording was written just now

    def _write(self, line: str) -> None:
        self._stream.write(line + "\n")
        self._stream.flush()

    def _read(self) -> None:
        """Take back whole lines; a last line cut short by a kill is measured again."""
        from profilers.recordings.t4_result import FieldError, record_from_json

        content = self.path.read_bytes()
        end = content.rfind(b"\n") + 1
        try:
            text = content[:end].decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(
                f"{self.path} is not UTF-8 text: byte {error.start}; remove it to record anew"
            ) from None
        for number, line in enumerate(text.split("\n")[:-1], start=1):
            try:
                entry = parse_json(line)
                if number == 1:
                    self._check(entry)
                    continue
                record = record_from_json(entry, where=f"line {number}")
            except (FormatError, FieldError) as error:
                raise InputError(
                    f"{self.path}: line {number}: {error}; remove the file to record anew"
                ) from None
            self.done[record.key] = record
        if end < len(content):  # only now: nothing of a file that is refused is cut
            self._stream.truncate(end)

    def _check(self, head: object) -> None:
        if head != self._head:
            raise InputError(
                f"{self.path} belongs to another state of the task or to another GPU: remove it "
                "to record anew"
            )
