"""kill -9 around a call to the model: no answer is bought twice, and nothing else changes."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from experiments.runs.folders.journal import read_events
from experiments.views.tree.drawing import tree_source
from mcts.journal.record import Result, read_result
from tests.support.needs import needs_litellm
from tests.support.openai_server import Answer, AutoModel, OpenAiServer, Say, Step
from tests.support.shelf import blocks, calls

ROOT = Path(__file__).resolve().parents[3]
LIKE = ROOT / "tests" / "data" / "cutlass_like"
TRIALS = 7
SEED = 4  # under which a reply cannot be used
pytestmark = [
    needs_litellm,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that forks"),
]
_NURSERY = """
import contextlib, functools, json, os, signal, sys
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
# What takes seconds is done once, not in every process.
import litellm, litellm.llms.openai.openai
import profilers.recordings.t4
profilers.recordings.t4.load_recording = functools.cache(profilers.recordings.t4.load_recording)
import codegen.chat.client, codegen.llm, codegen.chat.cache
import experiments.runs.folders.journal, profilers.recordings.replay
from experiments.cli import main

PLACES = {
    "answered": (codegen.chat.client.LitellmClient, "_reply", "after"),
    "kept": (codegen.chat.cache.AnswerStore, "keep", "after"),
    "proposed": (experiments.runs.folders.journal.SqliteJournal, "append", "before"),
    "measured": (experiments.runs.folders.journal.SqliteJournal, "append", "before"),
    "told": (experiments.runs.folders.journal.SqliteJournal, "append", "before"),
    "evaluating": (profilers.recordings.replay.ReplayEvaluator, "evaluate", "before"),
}

def command(*words):
    sys.argv = ["rooftree", *words]
    try:
        main()
    except SystemExit as done:
        return done.code

with contextlib.redirect_stdout(open(os.devnull, "w")):
    command("optimize", "row_softmax", "--evaluator", "replay", "--evaluations", "2",
            "--out", sys.argv[1])
print("ready", flush=True)

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def arm(place, count):
    owner, name, moment = PLACES[place]
    plain, seen = getattr(owner, name), []
    def armed(self, *args, **fields):
        if name != "append" or args[0] == place:
            seen.append(1)
        due = len(seen) == count
        if due and moment == "before":
            die()
        result = plain(self, *args, **fields)
        if due:
            die()
        return result
    setattr(owner, name, armed)

for line in sys.stdin:
    job = json.loads(line)
    pid = os.fork()
    if pid == 0:
        out = os.open(job["out"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1), os.dup2(out, 2)
        if job["place"]:
            arm(*job["place"])
        code = command(*job["words"])
        sys.stdout.flush(), sys.stderr.flush()
        os._exit(code or 0)
    print(pid, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""
"""Forks a process for each command line; one can kill itself at the n-th passage of a place."""


class Nursery:
    """Real processes to be killed, without the seconds that importing litellm takes."""

    def __init__(self, folder: Path) -> None:
        self._out = folder / "out"
        self._process = subprocess.Popen(
            [sys.executable, "-c", _NURSERY, str(folder / "warm")],
            env={**os.environ, "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "sk-of-these-tests"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdout is not None
        said = self._process.stdout.readline()
        assert said == "ready\n", "the run that warms it up failed"
        self._pid, self._started = 0, threading.Event()

    @property
    def pid(self) -> int:
        """The process at work; waits until there is one."""
        assert self._started.wait(30)
        return self._pid

    def run(self, *words: object, place: tuple[str, int] | None = None) -> int:
        """The exit status of a command; -9 where it was killed."""
        job = {"words": list(map(str, words)), "place": place, "out": str(self._out)}
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        self._pid = int(self._process.stdout.readline())
        self._started.set()
        code = int(self._process.stdout.readline())
        self._started.clear()
        return code

    @property
    def said(self) -> str:
        return self._out.read_text()

    def close(self) -> None:
        self._process.communicate(timeout=30)


@pytest.fixture(scope="module")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    found = Nursery(tmp_path_factory.mktemp("nursery"))
    yield found
    found.close()


def by_prompt(body: dict[str, Any]) -> Answer:
    """An answer that depends on the question alone, at a price that nothing divides evenly.

    Every fourth or so is one that cannot be used, so that replies are repaired as well.
    """
    asked = hashlib.sha256(json.dumps(body["messages"]).encode()).digest()
    model = AutoModel()
    model._count = asked[0]
    return Say(str(model(body)), prompt_tokens=1000 + asked[1], completion_tokens=70 + asked[2])


def questions(server: OpenAiServer) -> Counter[str]:
    return Counter(json.dumps(seen.body["messages"]) for seen in server.requests)


def start(server: OpenAiServer, out: Path, *more: object) -> tuple[object, ...]:
    return (
        "optimize", "row_softmax", "--evaluator", "replay", "--model", "openai/x", "--api-base",
        server.url, "--price", "x=0.7,2.1", "--evaluations", TRIALS, "--seed", SEED, "--out", out,
        *more,
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Whole:
    """What an uninterrupted run comes to."""

    asked: Counter[str]
    result: Result
    files: dict[str, bytes]


def outcome(run: Path) -> tuple[Result, dict[str, bytes]]:
    """The run as its journal tells it, and the bytes of what it leaves behind."""
    result = read_result(read_events(run))
    left = {path.name: path.read_bytes() for path in sorted((run / "best").iterdir())}
    return result, {**left, "tree": tree_source(result, title="the tree").source.encode()}


def uninterrupted(nursery: Nursery, folder: Path, *more: object) -> Whole:
    with OpenAiServer([by_prompt]) as server:
        assert nursery.run(*start(server, folder / "whole", *more)) == 0, nursery.said
        asked = questions(server)
    result, files = outcome(folder / "whole")
    return Whole(asked=asked, result=result, files=files)


@pytest.fixture(scope="module")
def whole(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    found = uninterrupted(nursery, tmp_path_factory.mktemp("whole"))
    assert any(node.kind == "rejected" or node.usage.get("replies", 0) > 1
               for node in found.result.nodes)  # fmt: skip
    return found


def assert_same(run: Path, whole: Whole) -> None:
    result, files = outcome(run)
    assert result.tree_digest == whole.result.tree_digest
    assert files == whole.files
    assert result.spending.cost == whole.result.spending.cost > Decimal(0)
    assert result.spending.tokens == whole.result.spending.tokens
    costs = [[node.usage.get("cost_usd") for node in each.nodes] for each in (result, whole.result)]
    assert costs[0] == costs[1]


@pytest.mark.parametrize(
    ("place", "count"),
    [("kept", 1), ("kept", 4), ("proposed", 2), ("proposed", 5), ("evaluating", 4),
     ("measured", 3), ("told", 5)],
)  # fmt: skip
def test_a_stored_answer_is_not_paid_for_twice(
    nursery: Nursery, whole: Whole, tmp_path: Path, place: str, count: int
) -> None:
    """Killed behind the answer: before the journal says so, while it is judged, before the tree
    has learned of it. The baseline is proposed, measured and told as well.
    """
    run = tmp_path / "run"
    with OpenAiServer([by_prompt]) as server:
        assert nursery.run(*start(server, run), place=(place, count)) == -9, nursery.said
        assert nursery.run("resume", run) == 0, nursery.said
        assert questions(server) == whole.asked
    assert_same(run, whole)


@pytest.mark.parametrize("count", [1, 3])
def test_only_an_unanswered_call_is_sent_again(
    nursery: Nursery, whole: Whole, tmp_path: Path, count: int
) -> None:
    run = tmp_path / "run"
    killed: list[str] = []

    def kills(body: dict[str, Any]) -> Answer:
        if len(server.requests) == count and not killed:
            killed.append(json.dumps(body["messages"]))
            os.kill(nursery.pid, signal.SIGKILL)
            return 503  # to nobody
        return by_prompt(body)

    with OpenAiServer([kills]) as server:
        assert nursery.run(*start(server, run)) == -9, nursery.said
        assert nursery.run("resume", run) == 0, nursery.said
        assert questions(server) == whole.asked + Counter(killed)
    assert_same(run, whole)


def test_an_answer_not_yet_on_disk_is_the_only_one_lost(
    nursery: Nursery, whole: Whole, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    with OpenAiServer([by_prompt]) as server:
        assert nursery.run(*start(server, run), place=("answered", 3)) == -9
        assert nursery.run("resume", run) == 0, nursery.said
        again = questions(server) - whole.asked
        assert sum(again.values()) == 1
    assert_same(run, whole)


def test_a_run_killed_many_times_ends_the_same(
    nursery: Nursery, whole: Whole, tmp_path: Path
) -> None:
    run, rng = tmp_path / "run", random.Random(os.environ.get("ROOFTREE_KILL_SEED", "0"))
    places = ("kept", "proposed", "evaluating", "told")
    with OpenAiServer([by_prompt]) as server:
        words: tuple[object, ...] = start(server, run)
        for _ in range(6):
            place = (rng.choice(places), rng.randint(2, 3))
            if nursery.run(*words, place=place) == 0:
                break
            words = ("resume", run)
        assert nursery.run("resume", run) == 0, nursery.said
        assert questions(server) == whole.asked
    assert_same(run, whole)


def test_parallel_calls_repeat_only_those_in_flight(nursery: Nursery, tmp_path: Path) -> None:
    side_by_side = ("--parallel", 4)
    whole, run = uninterrupted(nursery, tmp_path, *side_by_side), tmp_path / "run"
    with OpenAiServer([by_prompt]) as server:
        words = start(server, run, *side_by_side)
        assert nursery.run(*words, place=("kept", 5)) == -9, nursery.said
        assert nursery.run("resume", run) == 0, nursery.said
        asked = questions(server)
        assert set(asked) == set(whole.asked)
        assert sum((asked - whole.asked).values()) <= 3, "what the three others had in flight"
    assert_same(run, whole)


@pytest.mark.parametrize("place", [("proposed", 3), ("told", 4)])
def test_a_killed_parallel_run_goes_on_from_a_tape(
    nursery: Nursery, tmp_path: Path, place: tuple[str, int]
) -> None:
    """The tape answers by prompt: what is asked after the kill is what was asked in the whole run,
    word for word. No two prompts are the same, however many are asked at once.
    """
    tape, side_by_side, run = tmp_path / "tape.jsonl", ("--parallel", 2), tmp_path / "run"
    whole = uninterrupted(nursery, tmp_path, *side_by_side, "--llm-record", tape)
    assert max(whole.asked.values()) == 1
    words = (
        "optimize", "row_softmax", "--evaluator", "replay", "--model", "openai/x", "--seed", SEED,
        "--evaluations", TRIALS, *side_by_side, "--llm-replay", tape, "--out", run,
    )  # fmt: skip
    assert nursery.run(*words, place=place) == -9, nursery.said
    assert nursery.run("resume", run) == 0, nursery.said
    assert outcome(run)[0].tree_digest == whole.result.tree_digest


LOOKS = (
    [("search", {"query": "load a tile"}), ("definition", {"symbol": "SM90_TMA_LOAD"})],
    [("uses", {"symbol": "SM90_TMA_LOAD"}), ("read", {"path": "../outside"})],
)


def looks_first(protocol: str) -> Step:
    """A model that looks things up twice before each answer."""

    def answer(body: dict[str, Any]) -> Answer:
        said = sum(message["role"] == "assistant" for message in body["messages"])
        final = by_prompt(body)
        assert isinstance(final, Say)
        if said >= len(LOOKS):
            return final
        if protocol == "calls":
            return replace(final, text="", calls=calls(*LOOKS[said]))
        return replace(final, text=blocks(*LOOKS[said]))

    return answer


@pytest.mark.parametrize(
    ("protocol", "places"),
    [("calls", [("kept", 1), ("kept", 5)]), ("text", [("proposed", 3)])],
)
def test_a_run_killed_between_lookups_repeats_no_call(
    nursery: Nursery, tmp_path: Path, protocol: str, places: list[tuple[str, int]]
) -> None:
    """`kept` counts replies: three of each proposal and those that are repairs, so that it dies in
    the middle of one.
    """
    more = ("--library", f"cutlass={LIKE}", "--lookup-protocol", protocol, "--evaluations", 3)
    with OpenAiServer([looks_first(protocol)]) as server:
        assert nursery.run(*start(server, tmp_path / "whole", *more)) == 0, nursery.said
        asked = questions(server)
    result, files = outcome(tmp_path / "whole")
    whole = Whole(asked=asked, result=result, files=files)
    looked = [_looked(node.usage) for node in result.nodes]
    replies = sum(node.usage.get("replies", 0) for node in result.nodes)
    assert sum(map(len, looked)) == 12 and asked.total() == replies >= 9
    for at, place in enumerate(places):
        run = tmp_path / str(at)
        with OpenAiServer([looks_first(protocol)]) as server:
            assert nursery.run(*start(server, run, *more), place=place) == -9, nursery.said
            assert nursery.run("resume", run) == 0, nursery.said
            assert questions(server) == whole.asked
        assert_same(run, whole)
        assert [_looked(node.usage) for node in outcome(run)[0].nodes] == looked


def _looked(usage: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What was looked up, without the seconds that it took."""
    return [
        {name: value for name, value in one.items() if name != "seconds"}
        for one in usage.get("lookups", ())
    ]
