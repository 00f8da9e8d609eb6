"""What reads text of others, each with a text that is nearly right."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

from codegen.chat.cache import AnswerStore
from codegen.chat.cassette import CassetteClient, RecordingClient
from codegen.chat.messages import Message, Reply
from codegen.chat.queue import QueueClient, waiting
from codegen.chat.request import ChatRequest, Route
from codegen.dialects import writing_of
from experiments.benchmarks.expansions.file import bundled_expansions, read_expansions
from experiments.benchmarks.measurements.store import MeasurementStore
from experiments.benchmarks.model_studies.config import read_model_study
from experiments.benchmarks.one_step.config import read_one_step
from experiments.benchmarks.studies.cell import CellResult
from experiments.benchmarks.studies.config import bundled_studies, read_study, read_table
from experiments.benchmarks.studies.folder import RESULTS_FILE, StudyFolder
from experiments.benchmarks.suite.folder import SuiteFolder
from experiments.benchmarks.suite.outcome import Gain, Outcome
from experiments.runs.folders.partial_recording import PartialRecording
from experiments.runs.folders.snapshot import from_json, to_json
from experiments.runs.memory.export import lines_of, read_lines
from experiments.runs.options.config import read_config
from experiments.runs.tasks.files import find_task, load_task
from mcts.domain import KernelTask, StateSignature, sealed
from mcts.domain.host_plan import parse_host_plan
from mcts.domain.launch_plan import parse_launch_plan
from mcts.errors import AnswerPending
from mcts.journal.record import read_result
from mcts.knowledge.base import Knowledge
from mcts.knowledge.contribution import Contribution
from mcts.ports import Event
from mcts.testing.toy import MemoryJournal
from profilers.hardware.ceilings import Rates, load_rates, store_rates
from profilers.ncu.pages import parse_csv
from profilers.recordings.recording import RecordedConfiguration
from profilers.recordings.t4 import load_recording
from profilers.sass import parse_lines
from profilers.timeline.nsys_sqlite import read_sqlite
from tests.codegen.cases import GOOD, MODEL_NEW, SCALE, ask, problem_task, scale_task, space_task
from tests.faults.mutations import damage, garble, retyped
from tests.mcts.journal.paid import optimizer
from tests.support.host_sources import source as host_source
from tests.support.scripted_client import ScriptedClient

DATA = Path(__file__).resolve().parents[1] / "data"
TASKS = Path(__file__).resolve().parents[2] / "experiments" / "data" / "tasks"
PROBLEM = """import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)

def get_inputs():
    return [torch.rand(64, 128)]

def get_init_inputs():
    return []
"""

Try = Callable[[random.Random], object]


def readers(folder: Path) -> Iterator[tuple[str, Try]]:
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
    yield "journals", _journal()
    yield "KernelBench problems", _file(folder / "1_One.py", PROBLEM, _problem)
    yield "studies", _file(folder / "study.toml", _study(), read_study)
    yield "lines of studies", _study_line(folder)
    yield "outcomes of suites", _outcome(folder)
    yield (
        "settings of runs",
        _file(
            folder / "config.toml", (DATA / "configs" / "format_1.toml").read_text(), read_config
        ),
    )
    yield "partial recordings", _partial(folder)
    yield (
        "exported memories",
        _file(folder / "learned.jsonl", "".join(lines_of(_contributions())), read_lines),
    )
    yield (
        "snapshots of memories",
        _garbled(to_json(Knowledge.of(_contributions())), lambda text: from_json(text, place="it")),
    )
    yield "answers of models", _answer(folder)
    yield "ceilings", _ceilings(folder)
    yield "one-step studies", _file(folder / "advice.toml", _bundled("advice"), _one_step)
    yield "studies with a model", _file(folder / "headline.toml", _bundled("headline"), _searches)
    yield "replies in a queue", _queued(folder)
    yield "measurements of a study", _measured(folder)
    yield "recorded expansions", _expansions(folder)


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


def _garbled(good: str, read: Callable[[str], object]) -> Try:
    return lambda rng: read(garble(good, rng))


def _file(path: Path, good: str, read: Callable[[Path], object]) -> Try:
    def attempt(rng: random.Random) -> object:
        path.write_text(garble(good, rng), errors="replace")
        return read(path)

    return attempt


def _journal() -> Try:
    """Events of a run with one payload garbled: checksums tell of damage, but not of a writer."""
    journal = MemoryJournal()
    optimizer(journal).run()
    events = list(journal.events())

    def attempt(rng: random.Random) -> object:
        at = rng.randrange(len(events))
        payload = retyped(json.loads(json.dumps(events[at].payload)), rng)
        changed = Event(events[at].seq, events[at].kind, payload)
        return read_result([*events[:at], changed, *events[at + 1 :]])

    return attempt


def _problem(path: Path) -> object:
    return find_task(str(path))


def _study() -> str:
    return bundled_studies()["memory"].read_text()


def _study_line(folder: Path) -> Try:
    study = StudyFolder(folder / "study")
    study.path.mkdir()
    line = CellResult(
        key="cell-0123456789abcdef", arm="tree", task="row_softmax", seed=0, best=((3, 1.5),),
        to_target=3, unique=8, failed=1, trials=9, stopped="spent", digest="d", seconds=0.5,
    ).model_dump(mode="json")  # fmt: skip
    good = json.dumps(sealed(line)) + "\n" + json.dumps(line) + "\n"

    def attempt(rng: random.Random) -> object:
        (study.path / RESULTS_FILE).write_text(garble(good, rng), errors="replace")
        return list(study.lines())

    return attempt


def _outcome(folder: Path) -> Try:
    suite = SuiteFolder(folder / "suite")
    suite.path.mkdir()
    gain = Gain(over="eager", time_us=1.0, baseline_us=2.0, speedup=2.0, low=1.9, high=2.1)
    suite.keep(Outcome(level=1, number=1, name="1/1_One", status="correct", eager=gain))
    (path,) = suite.path.rglob("level1_1.json")
    good = path.read_text()
    return _file(path, good, lambda _: suite.outcome("level1_1"))


def _partial(folder: Path) -> Try:
    target, task = folder / "recording.json", scale_task()
    with PartialRecording(target, task, "Paper GPU") as partial:
        path = partial.path
        partial.keep(
            RecordedConfiguration(
                configuration={"BLOCK": 64}, status="measured", runtimes_us=(1.0, 1.1)
            )
        )
    good = path.read_text()

    def read(_: Path) -> object:
        with PartialRecording(target, task, "Paper GPU") as partial:
            return partial.done

    return _file(path, good, read)


def _contributions() -> list[Contribution]:
    return [
        Contribution(
            run="run", node=node, task="scale", gpu="H200", proposer="scripted",
            state=StateSignature(bound="memory"), method="memory.vectorized_loads",
            outcome="improved", gain=1.25, predicted=1.1,
        )
        for node in (1, 2)
    ]  # fmt: skip


def _ceilings(folder: Path) -> Try:
    rates = {"copy_gb_per_s": 4000.0, "read_gb_per_s": 4200.0, "fp32_tflop_per_s": 60.0,
             "launch_us": 2.0}  # fmt: skip
    store_rates("gpu", "1", rates, cache_dir=folder)
    (path,) = (folder / "ceilings").iterdir()

    def read(_: Path) -> object:
        found = load_rates("gpu", "1", cache_dir=folder)
        if found is not None and found.ceilings != Rates(**rates).ceilings:
            raise AssertionError(f"changed ceilings were believed: {found}")
        return found

    return _file(path, path.read_text(), read)


def _answer(folder: Path) -> Try:
    path = folder / "cache.sqlite"
    store = AnswerStore(path)
    request = ChatRequest(
        models=("openai/auto",), server=None, messages=({"role": "user", "content": "hello"},),
        max_tokens=10, temperature=0.0, seed=None,
    )  # fmt: skip
    store.keep(request, Reply(text="hello", model="auto", prompt_tokens=3), run_id="run")
    other = sqlite3.connect(path, isolation_level=None)
    ((good,),) = other.execute("SELECT reply FROM answer").fetchall()

    def attempt(rng: random.Random) -> object:
        text = garble(good, rng).encode(errors="replace").decode()
        other.execute("UPDATE answer SET reply = ?", (text,))
        return store.find(request.key)

    return attempt


def _bundled(name: str) -> str:
    return bundled_studies()[name].read_text()


def _one_step(path: Path) -> object:
    return read_one_step(read_table(path), path)


def _searches(path: Path) -> object:
    return read_model_study(read_table(path), path)


def _queued(folder: Path) -> Try:
    queue = folder / "queue"
    client = QueueClient(queue, route=Route("queue/x"), patience_s=0.0)
    question: Message = {"role": "user", "content": "12.5 us, and then?"}
    with suppress(AnswerPending):
        client.complete([question], max_tokens=9, temperature=0.0)
    (prompt,) = waiting(queue)
    reply = prompt.with_name(prompt.name.replace(".prompt.md", ".reply.json"))
    good = json.dumps({"text": "hello", "model": "m", "prompt_tokens": 3, "cost_usd": 0.5})

    def attempt(rng: random.Random) -> object:
        reply.write_text(garble(good, rng), errors="replace")
        os.utime(reply, (0, 0))
        return client.complete([question], max_tokens=9, temperature=0.0)

    return attempt


def _measured(folder: Path) -> Try:
    path = folder / "measurements.sqlite"
    with closing(MeasurementStore(path)) as store:
        store.keep("task", "candidate", "profile", {"a": [1, 2.5, "x"]}, seconds=1.0)
        store.keep("task", "", "evaluator", {"name": "gpu"}, seconds=0.0)
    good = path.read_bytes()

    def attempt(rng: random.Random) -> object:
        content = bytearray(good)
        for _ in range(rng.choice((1, 1, 4, 40))):
            content[rng.randrange(len(content))] = rng.randrange(256)
        path.write_bytes(bytes(content))
        with closing(MeasurementStore(path, read_only=True)) as store:
            return store.find("task", "candidate", "profile"), store.seconds

    return attempt


def _expansions(folder: Path) -> Try:
    path = folder / "expansions.jsonl.gz"
    bundled = bundled_expansions()["kernelbench_h200"]
    good = gzip.decompress(bundled.read_bytes()).decode()

    def attempt(rng: random.Random) -> object:
        path.write_bytes(gzip.compress(garble(good, rng).encode(errors="replace"), 1))
        return read_expansions(path)

    return attempt
