"""The cache of paid answers: a replayed or resumed run pays for no question twice."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from codegen.chat.messages import ChatClient, Message, Offer, Reply, reply_from
from codegen.chat.request import ChatRequest, Route
from mcts.databases import use_wal
from mcts.domain import first_problem
from mcts.errors import InputError, WorldError
from mcts.formats import SQLITE_ERRORS, parse_json

SCHEMA_VERSION = 1
_WAIT_S = 30.0
_CREATE = """
CREATE TABLE IF NOT EXISTS answer (
    key TEXT PRIMARY KEY,
    request TEXT NOT NULL,
    reply TEXT NOT NULL,
    run_id TEXT NOT NULL,
    at TEXT NOT NULL
) STRICT
"""


class AnswerStore:
    """Answers by the key of their request, in one SQLite file. Threads and processes may share it.

    An answer is in the file when `keep` returns, so that no killed process loses it; it is synced
    to the disk in the background, some milliseconds later.

    Raises InputError for a file that is no such store, WorldError if the disk refuses.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, threading.Lock()
        real = path.resolve()  # where SQLite keeps what belongs to it
        self._sync = BackgroundSync(real.with_name(f"{real.name}-wal"))
        try:
            self._connection = sqlite3.connect(
                path, isolation_level=None, timeout=_WAIT_S, check_same_thread=False
            )
            try:
                self._prepare()
            except BaseException:
                self._connection.close()
                raise
        except SQLITE_ERRORS as error:
            raise InputError(f"{path} cannot be used as a cache of answers: {error}") from None

    def _prepare(self) -> None:
        use_wal(self._connection, wait_s=_WAIT_S)
        self._connection.execute("PRAGMA synchronous = NORMAL")  # `_sync` does the rest
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        tables = self._connection.execute("SELECT name FROM sqlite_master").fetchall()
        if version > SCHEMA_VERSION:
            raise InputError(f"{self._path} was made by a newer Rooftree: update Rooftree")
        if version < SCHEMA_VERSION and tables and ("answer",) not in tables:
            raise InputError(f"{self._path} is another program's database: name another file")
        self._connection.execute(_CREATE)
        self._connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

    def find(self, key: str) -> tuple[Reply, str] | None:
        """The answer and the run that paid for it."""
        with self._lock:
            row = self._run("SELECT reply, run_id FROM answer WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        try:
            return reply_from(parse_json(row[0])), str(row[1])
        except ValueError as error:
            what = first_problem(error) if isinstance(error, ValidationError) else str(error)
            raise WorldError(f"{self._path} holds an answer that cannot be read: {what}") from None

    def keep(self, request: ChatRequest, reply: Reply, *, run_id: str) -> None:
        """Write an answer; returns once it would survive a kill. The first one stays."""
        row = (
            request.key,
            request.canonical,
            json.dumps(reply.as_dict(), ensure_ascii=False),
            run_id,
            datetime.now(UTC).isoformat(timespec="milliseconds"),
        )
        with self._lock:
            self._run("INSERT INTO answer VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", row)
        try:
            self._sync.request()
        except OSError as error:
            raise self._broken(error) from None

    def _run(self, statement: str, values: Sequence[str]) -> sqlite3.Cursor:
        try:
            return self._connection.execute(statement, values)
        except (*SQLITE_ERRORS, OSError) as error:
            raise self._broken(error) from None

    def _broken(self, error: Exception) -> WorldError:
        return WorldError(f"the cache of answers {self._path} cannot be used: {error}")

    def close(self) -> None:
        """Return once the disk holds every answer; idempotent."""
        try:
            self._sync.close()
        except OSError as error:
            raise self._broken(error) from None
        finally:
            with self._lock:
                self._connection.close()


class CachedClient:
    """Asks `inner` what the store does not know, and stores each answer before it returns it.

    Two identical requests in flight share one call. An answer that run `run_id` itself paid for
    in an earlier process counts as paid now, once: the process was killed before its journal
    could say so. Any other stored answer is `cached` and costs nothing. Thread-safe.
    """

    def __init__(
        self, inner: ChatClient, store: AnswerStore, *, route: Route, run_id: str = ""
    ) -> None:
        self._inner, self._store, self._route, self._run_id = inner, store, route, run_id
        self._lock = threading.Lock()
        self._asked: dict[str, Future[Reply]] = {}
        self._counted: set[str] = set()

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        temperature: float,
        seed: int | None = None,
        offer: Offer | None = None,
    ) -> Reply:
        request = self._route.request(
            messages, max_tokens=max_tokens, temperature=temperature, seed=seed, offer=offer
        )

        def ask() -> Reply:
            return self._inner.complete(
                messages, max_tokens=max_tokens, temperature=temperature, seed=seed, offer=offer
            )

        key = request.key
        with self._lock:
            first = key not in self._asked
            asked = self._asked.setdefault(key, Future())
        if not first:
            return asked.result().from_before()
        try:
            reply = self._from_store(key) or self._paid(request, ask)
        except BaseException as error:
            asked.set_exception(error)
            raise
        else:
            asked.set_result(reply)
            return reply
        finally:
            with self._lock:
                del self._asked[key]

    def close(self) -> None:
        self._inner.close()
        self._store.close()

    def _from_store(self, key: str) -> Reply | None:
        found = self._store.find(key)
        if found is None:
            return None
        reply, payer = found
        with self._lock:
            counted = key in self._counted
            self._counted.add(key)
        recovered = not counted and payer == self._run_id != ""
        return reply if recovered else reply.from_before()

    def _paid(self, request: ChatRequest, ask: Callable[[], Reply]) -> Reply:
        reply = ask()
        with self._lock:
            self._counted.add(request.key)
        self._store.keep(request, reply, run_id=self._run_id)
        return reply


class BackgroundSync:
    """Syncs one file to the disk in a thread of its own, some milliseconds after it was asked to.

    Requests that come while one is waiting are done with it. Thread-safe.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._waiting = False
        self._last: Future[None] | None = None
        self._pool = ThreadPoolExecutor(1, "rooftree-sync")

    def request(self) -> None:
        """Have all that was written so far synced. OSError if an earlier request failed."""
        with self._lock:
            if self._last is not None and self._last.done():
                self._last.result()
            if self._waiting:
                return
            self._waiting = True
            self._last = self._pool.submit(self._sync)

    def close(self) -> None:
        """Return once everything is synced; OSError if that failed. Idempotent."""
        self._pool.shutdown()
        if self._last is not None:
            self._last.result()

    def _sync(self) -> None:
        with self._lock:
            self._waiting = False  # what is written from here on is for another request
        try:
            file = os.open(self._path, os.O_RDONLY)
        except FileNotFoundError:
            return  # SQLite has moved it into the database, which it syncs itself
        try:
            os.fsync(file)
        finally:
            os.close(file)


def open_cache(path: Path) -> AnswerStore:
    """The store at `path`, readable by its owner alone: prompts hold the user's code."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise InputError(f"--llm-cache {path}: {error.strerror}") from None
    return AnswerStore(path)
