"""Garbled text of others: every reader gives a value or one of our errors, and does so soon."""

from __future__ import annotations

import contextlib
import json
import random
import signal
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

from codegen.chat.cassette import CassetteClient, RecordingClient
from codegen.chat.request import Route
from codegen.dialects import writing_of
from experiments.runs.tasks.files import load_task
from mcts.domain import KernelTask
from mcts.domain.host_plan import parse_host_plan
from mcts.domain.launch_plan import parse_launch_plan
from mcts.errors import RooftreeError
from profilers.ncu import parse_csv
from profilers.recordings.t4 import load_recording
from profilers.sass import parse_lines
from profilers.timeline.nsys_sqlite import read_sqlite
from tests.codegen.cases import GOOD, MODEL_NEW, SCALE, ask, problem_task, scale_task, space_task
from tests.faults.mutations import damage, garble
from tests.faults.tally import Tally
from tests.support.host_sources import source as host_source
from tests.support.scripted_client import ScriptedClient

DATA = Path(__file__).resolve().parents[1] / "data"
TASKS = Path(__file__).resolve().parents[2] / "experiments" / "data" / "tasks"
LIMIT_S = 10
BATCH = 100
"""Tries of one reader in a strike."""

Try = Callable[[random.Random], object]


class TooSlow(BaseException):
    """A reader took longer than `LIMIT_S`."""


class Fuzz:
    name = "fuzzed text"

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._folder = tempfile.TemporaryDirectory(prefix="rooftree-faults-")
        self._readers = dict(_readers(Path(self._folder.name)))
        self._turn = 0

    def strike(self, tally: Tally) -> None:
        """A batch for the reader whose turn it is."""
        name = list(self._readers)[self._turn % len(self._readers)]
        self._turn += 1
        for _ in range(BATCH):
            seed = self._rng.getrandbits(48)
            if fault := _fault(self._readers[name], seed):
                tally.violated(f"fuzzed {name}", f"seed {seed}: {fault}")
        tally.tried(f"fuzzed {name}", BATCH)


def _fault(attempt: Try, seed: int) -> str | None:
    def ring(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(LIMIT_S)
    try:
        attempt(random.Random(seed))
    except RooftreeError:
        return None
    except TooSlow:
        return f"no answer in {LIMIT_S} s"
    except Exception:  # noqa: BLE001  whatever it is, it is the finding
        return traceback.format_exc(limit=-4)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    return None


def _readers(folder: Path) -> Iterator[tuple[str, Try]]:
    """Readers by name, each given text that is nearly right."""
    yield "launch plans", lambda rng: parse_launch_plan(garble(SCALE, rng))
    yield "host plans", lambda rng: parse_host_plan(garble(host_source(), rng))
    yield "replies in CUDA", _reply(scale_task(), GOOD)
    yield "replies in PyTorch", _reply(problem_task(), f"```python\n{MODEL_NEW}\n```")
    yield "replies with values", _reply(space_task(), '```json\n{"T0": 1, "T1": 2}\n```')
    yield "tasks", _task(folder)
    yield "tapes", _tape(folder)
    yield "T4 files", _t4(folder)
    for report in sorted((DATA / "ncu").glob("*.csv")):
        yield f"ncu's {report.name}", _text(report, parse_csv)
    for listing in ("loops.txt", "wgmma.txt"):
        yield (
            f"machine code {listing}",
            _text(
                DATA / "sass" / listing, lambda text: parse_lines(text.splitlines(keepends=True))
            ),
        )
    yield "nsys", _nsys(folder)


def _text(path: Path, read: Callable[[str], object]) -> Try:
    text = path.read_text(errors="replace")[:200_000]
    return lambda rng: read(garble(text, rng))


def _reply(task: KernelTask, good: str) -> Try:
    request = ask(task)
    writing = writing_of(task.dialect)
    return lambda rng: writing.read(garble(good, rng), request)


def _task(folder: Path) -> Try:
    there = folder / "task"
    there.mkdir()
    good = {
        file.name: file.read_text() for file in (TASKS / "row_softmax").iterdir() if file.is_file()
    }

    def attempt(rng: random.Random) -> object:
        chosen = rng.choice(sorted(good))
        for name, text in good.items():
            (there / name).write_text(
                garble(text, rng) if name == chosen else text, errors="replace"
            )
        return load_task(there)

    return attempt


def _tape(folder: Path) -> Try:
    path, route = folder / "tape.jsonl", Route("openai/auto")
    with contextlib.closing(RecordingClient(ScriptedClient([GOOD] * 3), path, route=route)) as tape:
        for words in ("one", "two", "three"):
            message = {"role": "user", "content": words}
            tape.complete([message], max_tokens=10, temperature=0.0)  # type: ignore[list-item]
    good = path.read_text()

    def attempt(rng: random.Random) -> object:
        path.write_text(garble(good, rng), errors="replace")
        return CassetteClient(path, route=route)

    return attempt


def _t4(folder: Path) -> Try:
    path = folder / "space.json"
    results = [
        {
            "configuration": {"BLOCK": block, "layout": "NHWC"},
            "times": {"runtimes": [1.0 + block / 64, 1.1]},
            "invalidity": "correct",
            "measurements": [{"name": "time", "value": 1.0, "unit": "ms"}],
        }
        for block in (64, 128, 256)
    ]
    good = json.dumps({"metadata": {}, "schema_version": "1.0.0", "results": results}, indent=1)

    def attempt(rng: random.Random) -> object:
        path.write_text(garble(good, rng), errors="replace")
        return load_recording(path)

    return attempt


def _nsys(folder: Path) -> Try:
    path = folder / "report.sqlite"
    good = (DATA / "nsys" / "three_kernels.sqlite").read_bytes()

    def attempt(rng: random.Random) -> object:
        path.write_bytes(damage(good, rng))
        return read_sqlite(path)

    return attempt
