"""A whole run on row_softmax against a model that does all that models and services do at times.

The server plays scenes: a new question begins the next one, a question about a failed variant its
repair; a request that is sent again, or asked again with a reason, goes on in its scene. `verdicts`
then reads the run's journal and says of each scene whether it tells what happened.

On a command line, where every scene is shown beside what the journal tells of it::

    python -m tests.support.story                    # no GPU: values, judged by the recording
    python -m tests.support.story --evaluator gpu    # complete kernels, compiled and measured

The exit code is 1 where the journal does not tell the story or the cost does not add up.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from experiments.runs.folders.journal import read_events
from mcts.journal.record import read_result
from mcts.ports import Event
from tests.support.openai_server import Answer, Cut, Fail, Hang, OpenAiServer, Raw, Say
from tests.support.story_answers import Answers, Sources, Values

MODEL = "openai/story"
PRICE = (Decimal("0.7"), Decimal("2.1"))
"""US dollars per million tokens of prompts and of replies."""
TRIALS = 26
OPTIONS = (
    "--model", MODEL, "--price", f"story={PRICE[0]},{PRICE[1]}",
    "--evaluations", TRIALS, "--seed", 7,
    # A search that looks at failures at once: in 26 trials there is no time to come back to them.
    "--search", "temperature=10", "--search", "exploration=2",
    "--search", "widening_root=0.6", "--search", "widening_measured=0.6",
)  # fmt: skip
PROSE = "It waits on memory. I would load wider and keep the row in registers."
GARBLED = '## Plan\n\nMore lanes.\n\n## Values\n\n```json\n{"LANES": 32,\n```\n'


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What the server answers to one question, request by request, and what shall come of it.

    `came_to` is the kind of the trial's node, or `abandoned`; `status` that of its evaluation.
    `replies` were read, `faults` are in this order the words of requests that brought none.
    """

    name: str
    steps: Callable[[Answers, str], Sequence[Answer]]
    came_to: str = "measured"
    status: str = "measured"
    replies: int = 1
    faults: tuple[str, ...] = ()
    reason: str = ""


def _then_good(*before: Answer) -> Callable[[Answers, str], Sequence[Answer]]:
    return lambda answers, _: [*before, answers.good()]


GOOD = Scene(name="an optimization", steps=_then_good())
STORY = (
    GOOD,
    Scene(
        name="429, twice, with Retry-After",
        steps=_then_good(Fail(429, retry_after="0"), Fail(429, retry_after="0.2")),
        faults=("scripted 429", "scripted 429"),
    ),
    Scene(
        name="a variant that does not compile",
        steps=lambda answers, _: [answers.broken("compile")],
        came_to="failed",
        status="compile_failed",
        reason="column",
    ),
    Scene(
        name="a variant with a wrong result",
        steps=lambda answers, _: [answers.broken("result")],
        came_to="failed",
        status="wrong_result",
    ),
    Scene(
        name="a duplicate",
        steps=lambda answers, prompt: [answers.known(prompt)],
        came_to="duplicate",
    ),
    Scene(
        name="a refusal of the prompt",
        steps=lambda *_: [Fail(400, code="content_filter", message="against our policy")],
        came_to="rejected",
        replies=0,
        reason="against our policy",
    ),
    Scene(
        name="a reply that is withheld, then another",
        steps=_then_good(Say("", finish_reason="content_filter")),
        replies=2,
    ),
    Scene(
        name="an answer that is no JSON",
        steps=_then_good(Raw('{"choices": [')),
        faults=("",),
    ),
    Scene(name="a reply whose values are no JSON, then another", steps=_then_good(GARBLED),
          replies=2),
    Scene(
        name="two replies in prose",
        steps=lambda *_: [PROSE, PROSE],
        came_to="rejected",
        replies=2,
        reason="the reply holds no",
    ),
    Scene(name="a server error 500", steps=_then_good(Fail(500)), faults=("scripted 500",)),
    Scene(
        name="a hang",
        steps=_then_good(Hang(60)),
        faults=("no whole answer within",),
    ),
    Scene(
        name="an answer cut off on its way",
        steps=lambda answers, _: [Cut(text := answers.good(), chunked=True), text],
        faults=("",),
    ),
    Scene(
        name="a reply cut off at the token limit, then another",
        steps=_then_good(Say("## Plan\n\n```cuda\n/* roof", finish_reason="length")),
        replies=2,
    ),
    Scene(
        name="a server that stays away",
        steps=lambda *_: [Fail(503)] * 3,
        came_to="abandoned",
        replies=0,
        reason="gave no answer in 3 attempts",
    ),
)  # fmt: skip
REPAIRS = {
    "compile": Scene(
        name="the compile error repaired", steps=lambda answers, _: [answers.mended("compile")]
    ),
    "result": Scene(
        name="the wrong result repaired", steps=lambda answers, _: [answers.mended("result")]
    ),
}
_SIGNS = {"compile": "it does not compile", "result": "its result is wrong"}


@dataclass
class Storyteller:
    """The script of the server: see the module. `counted` are prompt and reply tokens of each
    answer that went out whole, which is what a service would charge for.
    """

    answers: Answers
    played: list[Scene] = field(default_factory=list)
    counted: list[tuple[int, int]] = field(default_factory=list)
    _to_come: list[Scene] = field(default_factory=lambda: list(STORY))
    _repairs: dict[str, Scene] = field(default_factory=lambda: dict(REPAIRS))
    _question: str = ""
    _steps: list[Answer] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, body: dict[str, Any]) -> Answer:
        with self._lock:
            prompt = body["messages"][1]["content"]
            if prompt != self._question:
                self._begin(prompt)
            step = self._steps.pop(0) if len(self._steps) > 1 else self._steps[0]
            return self._count(step, body)

    def _begin(self, prompt: str) -> None:
        scene = self._scene_for(prompt)
        self.played.append(scene)
        self._question, self._steps = prompt, list(scene.steps(self.answers, prompt))

    def _scene_for(self, prompt: str) -> Scene:
        for why, sign in _SIGNS.items():
            if sign in prompt.partition("# How it failed")[2] and why in self._repairs:
                return self._repairs.pop(why)
        return self._to_come.pop(0) if self._to_come else GOOD

    def _count(self, step: Answer, body: dict[str, Any]) -> Answer:
        if not isinstance(step, str | Say):
            return step
        say = step if isinstance(step, Say) else Say(step)
        tokens = sum(len(message["content"]) for message in body["messages"]) // 4
        self.counted.append((tokens, len(say.text) // 4))
        return Say(
            say.text,
            finish_reason=say.finish_reason,
            prompt_tokens=tokens,
            completion_tokens=len(say.text) // 4,
        )

    @property
    def missing(self) -> list[str]:
        """Scenes that the run never came to."""
        return [scene.name for scene in [*self._to_come, *self._repairs.values()]]

    @property
    def cost_usd(self) -> Decimal:
        """What the counted tokens cost, exactly."""
        return sum(((a * PRICE[0] + b * PRICE[1]) / 1_000_000 for a, b in self.counted), Decimal(0))


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """One scene beside its trial: what the journal tells, and what is missing from that."""

    scene: str
    trial: int
    told: str
    problems: tuple[str, ...]


def verdicts(teller: Storyteller, run: Path) -> list[Verdict]:
    """Scene by scene, in the order of the trials, which ask one after the other."""
    events = read_events(run)
    trials = [event.payload["trial"] for event in events if event.kind == "proposing"]
    return [
        _verdict(scene, trial, events) for scene, trial in zip(teller.played, trials, strict=True)
    ]


def _verdict(scene: Scene, trial: int, events: Sequence[Event]) -> Verdict:
    by_kind = {e.kind: e.payload for e in events if e.payload.get("trial") == trial}
    ended = by_kind.get("told") or by_kind.get("abandoned") or {}
    came_to = ended.get("kind", "abandoned" if "abandoned" in by_kind else "nothing")
    answer = by_kind.get("proposed") or by_kind.get("rejected") or {}
    usage, reason = answer.get("usage", {}), ended.get("reason", "")
    status = _status(events, ended.get("candidate_id"))
    problems = []
    if came_to != scene.came_to:
        problems.append(f"the node is {came_to}, not {scene.came_to}")
    if scene.came_to in ("measured", "failed") and status != scene.status:
        problems.append(f"its status is {status}, not {scene.status}")
    if usage.get("replies", 0) != scene.replies:
        problems.append(f"{usage.get('replies', 0)} replies, not {scene.replies}")
    faults = usage.get("faults", [])
    if len(faults) != len(scene.faults) or any(
        words not in fault for words, fault in zip(scene.faults, faults, strict=False)
    ):
        problems.append(f"faults {faults}, not {list(scene.faults)}")
    if scene.reason not in reason:
        problems.append(f"the reason says {reason!r}, not {scene.reason!r}")
    told = [came_to + (f" ({status})" if came_to == "failed" else "")]
    told += [f"{usage['replies']} replies"] if usage.get("replies", 0) > 1 else []
    told += [*faults, reason] if came_to != "failed" else [reason]
    return Verdict(
        scene=scene.name,
        trial=trial,
        told="; ".join(filter(None, told)),
        problems=tuple(problems),
    )


def _status(events: Sequence[Event], candidate_id: str | None) -> str:
    found = [e.payload for e in events if e.kind == "measured"]
    statuses = [p["evaluation"]["status"] for p in found if p["candidate_id"] == candidate_id]
    return statuses[0] if statuses else ""


def problems_of(teller: Storyteller, run: Path) -> Iterator[str]:
    """All that is not as it should be, money included."""
    for verdict in verdicts(teller, run):
        yield from (f"{verdict.scene}: {problem}" for problem in verdict.problems)
    yield from (f"the run never came to: {name}" for name in teller.missing)
    spent = read_result(read_events(run)).spending
    if spent.cost != teller.cost_usd:
        yield f"the run says it cost {spent.cost} USD, the server's tokens cost {teller.cost_usd}"
    if spent.tokens != sum(map(sum, teller.counted)):
        yield f"the run says {spent.tokens} tokens, the server {sum(map(sum, teller.counted))}"


def words_for(
    evaluator: str, api_base: str, folder: Path, *, timeout_s: float = 5.0
) -> tuple[list[str], Answers]:
    """The command line of the run, and what its model will say."""
    words = ["optimize", "row_softmax", "--evaluator", evaluator, "--api-base", api_base]
    words += map(str, (*OPTIONS, "--llm-timeout", timeout_s))
    if evaluator != "replay":
        return words, Sources()
    values = Values()
    recording = values.doctored(folder / "row_softmax.json.gz")
    return [*words, "--recording", str(recording)], values


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--evaluator", choices=("replay", "gpu"), default="replay")
    parser.add_argument("--out", type=Path, help="the run folder; default: a temporary one")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="rooftree-story-"))
    run = arguments.out or folder / "run"
    teller = Storyteller(Values() if arguments.evaluator == "replay" else Sources())
    with OpenAiServer([teller]) as server:
        words, teller.answers = words_for(arguments.evaluator, server.url, folder)
        done = subprocess.run(
            [sys.executable, "-m", "experiments", *words, "--out", str(run), "--json"],
            env={**os.environ, "OPENAI_API_KEY": "sk-a-key-that-only-this-story-knows"},
            stdout=subprocess.PIPE,
            text=True,
        )
    if done.returncode:
        return done.returncode
    found = json.loads(done.stdout)
    for verdict in verdicts(teller, run):
        mark = "NOT AS IT SHOULD BE: " + "; ".join(verdict.problems) if verdict.problems else "ok"
        print(f"{verdict.trial:>3}  {verdict.scene:<48} {verdict.told}\n     {mark}")
    problems = list(problems_of(teller, run))
    print(f"\n{found['speedup']:.2f}x over the baseline; {len(server.requests)} requests; ", end="")
    print(f"{teller.cost_usd} USD by the server's count")
    print("\n".join(problems) or "The journal tells the whole story, and the cost adds up.")
    print(f"run folder {run}")
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
