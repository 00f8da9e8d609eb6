"""What searches on recordings tried, as examples for a model that chooses values.

A search with any proposer is a teacher: each of its trials is a question, what is known and which
variant to leave from, and a choice of values with its verdict.
"""

from __future__ import annotations

import json
import random
import re
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from codegen.dialects.space.values import choosable_space
from codegen.prompting.brief import brief_prompt, changes_text, shown_candidates
from codegen.scripted.proposer import ScriptedProposer
from codegen.scripted.uniform import UniformProposer
from experiments.benchmarks.studies.recorded_task import recorded_task
from experiments.training.families import family_of
from experiments.training.rewards import lower_bound, why
from mcts.domain import Evaluation, Hardware
from mcts.options import ModelOptions
from mcts.ports import Proposal, ProposalRequest, Proposer

Row = dict[str, Any]
TEACHERS = {"scripted": ScriptedProposer, "uniform": UniformProposer}
_NAMES = (
    "BLOCK", "TILE", "VEC", "STAGES", "UNROLL", "ROWS", "COLS", "WARPS", "SPLIT", "KEEP", "PAD",
    "SWIZZLE", "CACHE", "DEPTH", "ITEMS", "CHUNK", "LANES", "ASYNC", "FUSE", "BOUNDS", "ORDER",
    "SHARED", "FAST", "STRIDE", "GROUP", "COPIES", "PIPE", "REGS",
)  # fmt: skip
_ENDINGS = ("", "_M", "_N", "_K", "_X", "_Y", "_A", "_B")
"""What kernels commonly call their tunables, for copies of an example under other names."""
_INVENTED = 0.5
"""The share of names that are letters drawn at random: so many that none is learnt by heart."""
_LABEL = re.compile(r"\b[A-Z]+\b")
_LISTED = re.compile(r'"(?P<label>[A-Z]+)": (?P<values>.*) \((?P<name>[^,)]*)(?P<methods>.*)\)$')


@dataclass(frozen=True, slots=True, kw_only=True)
class Teacher:
    """One search: who proposes, for how many evaluations, with which seed."""

    proposer: str
    seed: int
    evaluations: int


def examples(task: str, teacher: Teacher) -> Iterator[Row]:
    """Every trial of a search on a recorded task, in the order they were tried.

    A row has the brief `prompt` and the `completion` as messages; `task`, `parent` and `shown`, the
    candidates that the prompt lists, as rewards take them; `verdict`, `reward`, and `gain`: by how
    much the variant is faster than the one it left from at least, by the intervals of both; 0 where
    it failed. InputError for a task without a recording.
    """
    recorded = recorded_task(task)
    watched = _Watched(TEACHERS[teacher.proposer](), recorded.recording.hardware)
    result = recorded.search(watched, evaluations=teacher.evaluations, seed=teacher.seed)
    judged = {
        node.candidate.id: node.evaluation
        for node in result.nodes
        if node.candidate is not None and node.evaluation is not None
    }
    family = family_of(recorded.task)
    for number, (request, proposal, prompt) in enumerate(watched.seen):
        evaluation = judged.get(proposal.candidate.id)
        if evaluation is None:
            continue
        space = choosable_space(request)
        answer = changes_text(proposal.candidate, request.parent, space)
        yield {
            "task": task,
            "family": family,
            "teacher": teacher.proposer,
            "seed": teacher.seed,
            "trial": number,
            "prompt": prompt,
            "completion": [{"role": "assistant", "content": answer}],
            "parent": request.parent.model_dump_json(),
            "shown": [candidate.id for _, candidate in shown_candidates(request)],
            "verdict": why(evaluation),
            "reward": lower_bound(evaluation),
            "gain": _gain(request.evaluation, evaluation),
        }


def renamed(row: Row, draw: random.Random) -> Row:
    """The same example with other names of its tunables, in another order, so with other labels;
    the last line of its prompt has them all.

    A model that is taught a few tasks alone learns what stands for what by heart. The copy cannot
    be judged: it has no `parent`.
    """
    labels = list(json.loads(row["prompt"][-1]["content"].rpartition("\n")[2].partition(" ")[2]))
    order = draw.sample(labels, len(labels))
    names = _other_names(len(labels), draw)

    def messages(found: Sequence[dict[str, str]]) -> list[dict[str, str]]:
        return [
            {**message, "content": _reordered(message["content"], labels, order, names)}
            for message in found
        ]

    return {
        **row,
        "prompt": messages(row["prompt"]),
        "completion": messages(row["completion"]),
        "parent": None,
    }


def _other_names(count: int, draw: random.Random) -> list[str]:
    found: set[str] = set()
    while len(found) < count:
        if draw.random() < _INVENTED:
            name = "".join(draw.choices(string.ascii_uppercase, k=draw.randint(2, 7)))
        else:
            name = draw.choice(_NAMES)
        found.add(name + draw.choice(_ENDINGS))
    return draw.sample(sorted(found), count)


def _reordered(
    content: str, labels: Sequence[str], order: Sequence[str], names: Sequence[str]
) -> str:
    """The text with what `order` has at a place under the label of that place, and its name."""
    now = dict(zip(order, labels, strict=True))
    lines = content.splitlines()
    found = [(at, match) for at, line in enumerate(lines) if (match := _LISTED.match(line))]
    listed = {match["label"]: match for _, match in found}
    for (at, _), label, before, name in zip(found, labels, order, names, strict=False):
        lines[at] = f'"{label}": {listed[before]["values"]} ({name}{listed[before]["methods"]})'
    for at, line in enumerate(lines):
        head, brace, body = line.partition("{")
        if line.startswith("where "):
            lines[at] = _LABEL.sub(lambda word: now.get(word[0], word[0]), line)
        elif brace:
            values = json.loads(brace + body)
            kept = {now[label]: values[label] for label in order if label in values}
            lines[at] = head + json.dumps(kept)
    return "\n".join(lines)


def _gain(parent: Evaluation, child: Evaluation) -> float:
    """At least how much faster, by the 95 % intervals of both; 0 for a child that was not measured,
    1 where no difference was shown.
    """
    before, after = parent.timing, child.timing
    if not child.measured or after is None:
        return 0.0
    if not parent.measured or before is None:
        return 1.0
    least, most = after.speedup_low / before.speedup_high, after.speedup_high / before.speedup_low
    return least if least > 1 else most if most < 1 else 1.0


class _Watched(Proposer):
    """A proposer, and what it was asked and answered."""

    inline = True

    def __init__(self, inner: Proposer, hardware: Hardware) -> None:
        self.name = inner.name
        self._inner, self._hardware = inner, hardware
        self._options = ModelOptions(prompt_form="brief")
        self.seen: list[tuple[ProposalRequest, Proposal, list[Any]]] = []

    def propose(self, request: ProposalRequest) -> Proposal:
        proposal = self._inner.propose(request)
        space = choosable_space(request)
        prompt = brief_prompt(request, self._hardware, space, self._options)
        self.seen.append((request, proposal, [dict(one) for one in prompt.messages]))
        return proposal
