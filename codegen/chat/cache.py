"""Answers that were paid for, kept: a replayed or resumed run asks nobody the same thing twice."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from datetime import UTC, datetime
from pathlib import Path

from codegen.chat.messages import ChatClient, Message, Offer, Reply
from codegen.chat.request import ChatRequest, Route
from codegen.chat.syncing import BackgroundSync
from mcts.errors import InputError, WorldError

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

    An answer that was kept is in the file when `keep` returns, so that no killed process loses it;
    the disk is made to hold it in the background, some milliseconds later.

    Raises InputError for a file that is no such store, WorldError when the disk refuses.
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
        except sqlite3.DatabaseError as error:
            raise InputError(f"{path} cannot be used as a cache of answers: {error}") from None

    def _prepare(self) -> None:
        self._connection.execute("PRAGMA journal_mode = WAL")
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
            return Reply(**json.loads(row[0])), str(row[1])
        except (ValueError, TypeError) as error:
            raise WorldError(f"{self._path} holds an answer that cannot be read: {error}") from None

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
        except (sqlite3.Error, OSError) as error:
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
    """Asks `inner` what the store does not know, and keeps each answer before it is handed out.

    Two identical requests in flight share one call. An answer that run `run_id` itself paid for
    in an earlier process counts as paid now, once: the process was killed before its journal
    could say so. Any other kept answer is `cached` and costs nothing. Thread-safe.
    """

    def __init__(
        self, inner: ChatClient, store: AnswerStore, *, route: Route, run_id: str = ""
    ) -> None:
        self._inner, self._store, self._route, self._run_id = inner, store, route, run_id
        self._lock = threading.Lock()
        self._asked: dict[str, Future[Reply]] = {}
        self._told: set[str] = set()

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
            mine = key not in self._asked
            asked = self._asked.setdefault(key, Future())
        if not mine:
            return asked.result().from_before()
        try:
            reply = self._known(key) or self._bought(request, ask)
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

    def _known(self, key: str) -> Reply | None:
        found = self._store.find(key)
        if found is None:
            return None
        reply, payer = found
        with self._lock:
            told = key in self._told
            self._told.add(key)
        recovered = not told and payer == self._run_id != ""
        return reply if recovered else reply.from_before()

    def _bought(self, request: ChatRequest, ask: Callable[[], Reply]) -> Reply:
        reply = ask()
        with self._lock:
            self._told.add(request.key)
        self._store.keep(request, reply, run_id=self._run_id)
        return reply


def open_cache(path: Path) -> AnswerStore:
    """The store at `path`, readable by its owner alone: prompts hold the user's code."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise InputError(f"--llm-cache {path}: {error.strerror}") from None
    return AnswerStore(path)
