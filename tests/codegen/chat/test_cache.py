"""Kept answers: nothing is paid for twice, by one process or the next."""

from __future__ import annotations

import errno
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from codegen.chat.cache import AnswerStore, BackgroundSync, CachedClient, open_cache
from codegen.chat.messages import Message, Reply
from codegen.chat.request import Route
from mcts.errors import InputError, WorldError
from tests.support.scripted_client import Asked, ScriptedClient

ROUTE = Route("openai/test", ("openai/other",), "http://me:hunter22-hunter22@host:1/v1?key=abc")
SECRET = "planted-secret-1234567890"


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "llm_cache.sqlite"


def cached(
    path: Path, *script: Any, route: Route = ROUTE, run_id: str = ""
) -> tuple[CachedClient, ScriptedClient]:
    inner = ScriptedClient(script or ("fine",))
    return CachedClient(inner, open_cache(path), route=route, run_id=run_id), inner


def ask(client: CachedClient, text: str = "hello", **changes: Any) -> Reply:
    messages: list[Message] = [{"role": "user", "content": text}]
    return client.complete(messages, **{"max_tokens": 9, "temperature": 0.5, "seed": 1, **changes})


def test_the_same_request_is_paid_for_once_also_by_a_later_process(path: Path) -> None:
    client, inner = cached(path, "first", "second")
    bought = ask(client)
    again = ask(client)
    assert (bought.cached, bought.cost_usd) == (False, 0.01)
    assert again.text == "first" and len(inner.asked) == 1
    client.close()
    later, unused = cached(path, "third")
    kept = ask(later)
    assert kept == again and unused.asked == []
    assert (kept.cached, kept.cost_usd, kept.original_cost_usd) == (True, 0.0, 0.01)
    assert kept.usage() == {
        "model": "scripted",
        "prompt_tokens": 0,
        "completion_tokens": 0,
        "cost_usd": 0.0,
        "cached": True,
        "original_cost_usd": 0.01,
    }


@pytest.mark.parametrize(
    "changes",
    [{"seed": 2}, {"seed": None}, {"temperature": 0.6}, {"max_tokens": 10}, {"text": "hullo"}],
    ids=str,
)
def test_another_question_or_another_sample_is_asked(path: Path, changes: Any) -> None:
    client, inner = cached(path, "first", "second")
    assert ask(client).text == "first"
    assert ask(client, **changes).text == "second"
    assert len(inner.asked) == 2


@pytest.mark.parametrize(
    "route",
    [
        Route("openai/test", ()),
        Route("openai/other", ("openai/test",), "http://host:1/v1"),
        Route("openai/test", ("openai/other",), "http://host:2/v1"),
    ],
    ids=str,
)
def test_other_models_or_another_server_are_asked(path: Path, route: Route) -> None:
    ask(cached(path, "first")[0])
    assert ask(cached(path, "second", route=route)[0]).text == "second"


def test_credentials_do_not_change_the_key_and_are_not_kept(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", SECRET)
    client, _ = cached(path)
    ask(client, f"a log that tells {SECRET}")
    client.close()
    plain = Route("openai/test", ("openai/other",), "http://host:1/v1/")
    client, inner = cached(path, route=plain)
    assert ask(client, f"a log that tells {SECRET}").cached and inner.asked == []
    client.close()
    kept = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert b"a log that tells [SOME_API_KEY]" in kept
    for word in (SECRET, "hunter22", "key=abc"):
        assert word.encode() not in kept


def test_two_identical_requests_in_flight_share_one_call(path: Path) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(_: Asked) -> str:
        begun.set()
        assert go_on.wait(20)
        return "fine"

    client, inner = cached(path, slow)
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(ask, client)
        assert begun.wait(20)
        others = [pool.submit(ask, client) for _ in range(3)]
        go_on.set()
        replies = [first.result(20), *(other.result(20) for other in others)]
    assert len(inner.asked) == 1
    assert [reply.cost_usd for reply in replies] == [0.01, 0.0, 0.0, 0.0]


def test_a_failure_is_not_kept(path: Path) -> None:
    client, inner = cached(path, WorldError("down"), "fine")
    with pytest.raises(WorldError, match="down"):
        ask(client)
    assert ask(client).text == "fine" and len(inner.asked) == 2


def test_an_answer_is_durable_before_it_is_handed_out(path: Path) -> None:
    client, _ = cached(path)
    ask(client)
    assert AnswerStore(path).find(_key()) is not None, "another connection sees it at once"


def test_what_a_killed_run_paid_for_counts_once_when_it_goes_on(path: Path) -> None:
    killed, _ = cached(path, run_id="this")
    bought = ask(killed)
    resumed, inner = cached(path, run_id="this")
    assert ask(resumed) == bought, "its journal never heard of it"
    assert ask(resumed).cost_usd == 0.0
    assert inner.asked == []
    assert ask(cached(path, run_id="another")[0]).cached


def test_an_answer_without_counts_stays_without(path: Path) -> None:
    uncounted = Reply(text="fine", model="m")
    ask(cached(path, uncounted)[0])
    kept = ask(cached(path)[0])
    assert (kept.prompt_tokens, kept.cost_usd, kept.original_cost_usd) == (None, 0.0, None)


def test_a_file_that_is_no_cache_is_refused(path: Path, tmp_path: Path) -> None:
    path.write_bytes(b"something else entirely, and long enough to be read" * 50)
    with pytest.raises(InputError, match="cannot be used as a cache"):
        open_cache(path)
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE precious (x)")
    with pytest.raises(InputError, match="another program's"):
        open_cache(other)
    with pytest.raises(InputError, match="--llm-cache"):
        open_cache(tmp_path / "nowhere" / "cache.sqlite")


def test_only_its_owner_reads_it(path: Path) -> None:
    open_cache(path).close()
    assert path.stat().st_mode & 0o077 == 0


def test_a_cache_that_can_no_longer_be_written_is_a_world_error(path: Path) -> None:
    client, _ = cached(path)
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE answer")
    with pytest.raises(WorldError, match="cannot be used"):
        ask(client)


def test_closing_closes_the_inner_client(path: Path) -> None:
    client, inner = cached(path)
    client.close()
    assert inner.closed


def _key() -> str:
    messages: list[Message] = [{"role": "user", "content": "hello"}]
    return ROUTE.request(messages, max_tokens=9, temperature=0.5, seed=1).key


def test_the_key_of_a_request_stays_the_same_from_version_to_version() -> None:
    assert _key() == "18544b586fe7320421b03cfcc182250040b57b0e9266f9b0d916bee48ef54949"


KEEPS_AND_DIES = """
import os, signal, sys
from pathlib import Path
from codegen.chat.cache import CachedClient, open_cache
from tests.codegen.chat.test_cache import ROUTE, ask
from tests.support.scripted_client import ScriptedClient
client = CachedClient(ScriptedClient(["paid for"]), open_cache(Path(sys.argv[1])), route=ROUTE)
ask(client)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_an_answer_outlives_a_process_that_is_killed_the_moment_it_has_it(path: Path) -> None:
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", KEEPS_AND_DIES, str(path)], cwd=root)
    assert done.returncode == -signal.SIGKILL
    client, unused = cached(path, "asked again")
    assert ask(client).text == "paid for" and unused.asked == []


def test_the_disk_holds_every_answer_once_the_store_is_closed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    monkeypatch.setattr(
        "codegen.chat.cache.os.fsync", lambda fd: sizes.append(os.fstat(fd).st_size)
    )
    link = path.with_name("link.sqlite")
    link.symlink_to(path)
    client, _ = cached(link, "first")
    ask(client)
    log = path.with_name(f"{path.name}-wal")
    written = log.stat().st_size
    client.close()
    client.close()
    assert sizes == [written] and written > 0


def test_a_disk_that_fails_in_the_background_is_told(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("codegen.chat.cache.os.fsync", fail)
    client, _ = cached(path, "first")
    ask(client)
    with pytest.raises(WorldError, match=r"llm_cache.sqlite cannot be used.*Input/output error"):
        client.close()


def test_requests_that_come_together_are_synced_together(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.touch()
    begun, go, synced = threading.Event(), threading.Event(), []

    def wait(fd: int) -> None:
        begun.set()
        go.wait(30)
        synced.append(fd)

    monkeypatch.setattr("codegen.chat.cache.os.fsync", wait)
    sync = BackgroundSync(path)
    sync.request()
    assert begun.wait(30)
    for _ in range(5):
        sync.request()
    go.set()
    sync.close()
    assert len(synced) == 2
    gone = BackgroundSync(path.with_name("absent"))
    gone.request()
    gone.close()


def test_after_a_failed_sync_the_next_answer_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    path.touch()
    monkeypatch.setattr("codegen.chat.cache.os.fsync", fail)
    sync = BackgroundSync(path)
    sync.request()
    with pytest.raises(OSError, match="Input/output"):
        sync.close()
    with pytest.raises(OSError, match="Input/output"):
        sync.request()
