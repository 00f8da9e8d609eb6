"""Cost of asking a language model: ``python tests/benchmarks/bench_llm_client.py [CALLS]``.

Prints, for one CPU core: a round trip of the proposer with a client that answers at once (prompt
built, reply parsed, candidate ready), for a small task and for the requests of a search over
row_softmax with a new kernel in each reply, the same with the cache of answers in between, and
calls through litellm over HTTP to a server on this machine, one at a time and 32 in flight. Beside
the wall clock stands the CPU time of the calling thread: on a loaded machine the difference is time
that others had the core. It asserts nothing: machines are noisy.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from codegen.chat.cache import CachedClient, open_cache
from codegen.chat.client import LitellmClient
from codegen.chat.messages import ChatClient, Message
from codegen.chat.request import Route
from codegen.llm import LlmProposer
from codegen.scripted.proposer import ScriptedProposer
from experiments.runs.tasks.files import find_task
from mcts.loop.optimizer import Budget, Optimizer
from mcts.options import ModelOptions
from mcts.ports import Proposal, ProposalRequest
from mcts.testing.toy import MemoryJournal
from microtools.advisor import RooflineAdvisor
from profilers.recordings.replay import ReplayEvaluator
from profilers.recordings.t4 import load_recording
from tests.codegen.cases import SCALE, ask
from tests.support.openai_server import Answer, OpenAiServer
from tests.support.scripted_client import Asked, ScriptedClient
from tests.support.story_answers import kernel, source_reply

ROUTE = Route("openai/bench")
REPLY = (
    "## Analysis\n\nIt waits.\n\n## Plan\n\nAdd: memory.vectorized_loads\n\n## Code\n\n```cuda\n"
    + SCALE.replace("2.0f * x[i]", "x[i] + x[i]")
    + "\n```\n"
)
KERNEL = kernel(block=256, vec=4)
IN_FLIGHT = 32
SERVICE_S = 0.5


def main(calls: int) -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as folder:
        _round_trips(calls, Path(folder))
    _over_http(calls)


def _round_trips(calls: int, folder: Path) -> None:
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    heads = "".join(f"{head:>8}" for head in ("ms", "95 %", "CPU", "95 %"))
    print(f"{'round trip of the proposer, no network':<44}{heads}")
    scripted = ScriptedClient([REPLY])
    _row("a small task", calls, _propose_with(scripted))
    proposals = _search_with(ScriptedClient([_new_kernel]))
    _row("requests of a search over row_softmax", calls, proposals)
    cache = CachedClient(ScriptedClient([_new_kernel]), open_cache(folder / "a"), route=ROUTE)
    _row("the same, each answer kept in the cache", calls, _search_with(cache))
    cache = CachedClient(scripted, open_cache(folder / "b"), route=ROUTE)
    propose = _propose_with(cache)
    _row("a small task, answer kept in the cache", calls, propose)
    propose = _propose_with(cache)
    _row("a small task, answer from the cache", calls, propose)


def _new_kernel(asked: Asked) -> str:
    """A kernel whose plan nobody has read yet, as a model writes them."""
    return source_reply(KERNEL.replace("[tunables]", f"# {asked.seed}\n[tunables]", 1))


def _search_with(client: ChatClient) -> Callable[[int], object]:
    requests, proposer = (
        _requests_of_a_search(),
        LlmProposer(ModelOptions(name="openai/bench"), client=client),
    )
    return lambda at: proposer.propose(replace(requests[at % len(requests)], seed=at))


def _requests_of_a_search() -> list[ProposalRequest]:
    """What a proposer is told in 40 trials: code, advice, lessons, exemplars, earlier attempts."""
    source, kept = find_task("row_softmax"), []
    evaluator = ReplayEvaluator(source.task, load_recording(source.recordings[-1]))

    class Listening(ScriptedProposer):
        def propose(self, request: ProposalRequest) -> Proposal:
            kept.append(request)
            return super().propose(request)

    Optimizer(
        task=source.task,
        proposer=Listening(),
        evaluator=evaluator,
        advisor=RooflineAdvisor(),
        journal=MemoryJournal(),
        budget=Budget(evaluations=40),
    ).run()
    return kept


def _propose_with(client: ChatClient) -> Callable[[int], object]:
    proposer = LlmProposer(ModelOptions(name="openai/bench"), client=client)
    request = ask()
    return lambda seed: proposer.propose(replace(request, seed=seed, parent=_parent(seed)))


def _parent(seed: int) -> Any:
    """A parent of its own for each call, so that every prompt is another one."""
    parent = ask().parent
    return parent.model_copy(update={"source": f"{parent.source}\n// {seed}"})


def _row(name: str, calls: int, work: Callable[[int], object]) -> None:
    work(-1)
    wall, cpu = [], []
    for seed in range(calls):
        start, busy = time.perf_counter(), time.thread_time()
        work(seed)
        cpu.append(1e3 * (time.thread_time() - busy))
        wall.append(1e3 * (time.perf_counter() - start))
    print(f"{name:<44} {_told(wall)} {_told(cpu)}")


def _told(laps: list[float]) -> str:
    """Median and 95th percentile."""
    high = sorted(laps)[int(0.95 * (len(laps) - 1))]
    return f"{statistics.median(laps):>7.2f} {high:>7.2f}"


def _over_http(calls: int) -> None:
    messages: list[Message] = [{"role": "user", "content": "x" * 20_000}]

    def wait(_: dict[str, Any]) -> Answer:
        time.sleep(SERVICE_S)
        return REPLY

    def once(client: LitellmClient) -> None:
        client.complete(messages, max_tokens=100, temperature=0.0)

    print(f"\n{'through litellm, client and server on one core':<48} {'ms a call':>9}")
    with OpenAiServer([REPLY]) as server:
        client = LitellmClient("openai/bench", api_base=server.url)
        once(client)
        start = time.perf_counter()
        for _ in range(calls):
            once(client)
        print(f"{'one at a time':<48} {1e3 * (time.perf_counter() - start) / calls:>9.2f}")
    with OpenAiServer([wait]) as server, ThreadPoolExecutor(IN_FLIGHT) as pool:
        client = LitellmClient("openai/bench", api_base=server.url)
        once(client)
        start = time.perf_counter()
        list(pool.map(lambda _: once(client), range(4 * IN_FLIGHT)))
        seconds = time.perf_counter() - start
        name = f"{IN_FLIGHT} in flight, {SERVICE_S:g} s each, 4 rounds"
        print(
            f"{name:<48} {seconds:>7.2f} s in all; at most {server.most_in_flight} at once; "
            f"{threading.active_count()} threads"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
