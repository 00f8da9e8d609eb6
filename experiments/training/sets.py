"""Training sets out of judged replies, as plain rows: one function for each kind."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from codegen.prompting.untrusted import fence
from experiments.training.judged import JudgedReply
from experiments.training.rewards import REWARDS, smoothed, why
from mcts.domain import Candidate, Dialect
from mcts.loop.exemplars import Exemplars
from mcts.ports import Attempt

Row = dict[str, Any]
_TASK_ENDS = re.compile(r"^# (?:Methods|The variant|What )", re.MULTILINE)
"""Where a prompt has said what is to be computed, and on what."""
_NOW = (
    "Say first which of these variants is the faster one and why, then write one that is faster "
    "than both, and still right."
)


def rows_of(reply: JudgedReply) -> Row:
    """What every row says of a reply: where it comes from, its verdict with its interval."""
    timing, parent = reply.evaluation.timing, reply.parent_evaluation
    return {
        "id": reply.id,
        "task": reply.task,
        "task_id": reply.task_id,
        "family": reply.family,
        "dialect": reply.dialect,
        "hardware": reply.hardware,
        "model": reply.model,
        "run": reply.run,
        "trial": reply.trial,
        "parent": reply.parent,
        "candidate": reply.candidate,
        "verdict": why(reply.evaluation),
        "held": reply.held,
        "over": timing.baseline if timing is not None else None,
        "time_us": timing.median_us if timing is not None else None,
        "speedup": reply.evaluation.speedup,
        "speedup_low": timing.speedup_low if reply.evaluation.measured and timing else None,
        "speedup_high": timing.speedup_high if reply.evaluation.measured and timing else None,
        "parent_speedup": parent.speedup if parent is not None else None,
    }


def every_reply(replies: Iterable[JudgedReply]) -> Iterator[Row]:
    """Every reply with its prompt, its verdict and its rewards."""
    for reply in replies:
        rewards = {f"reward_{name}": of(reply.evaluation) for name, of in REWARDS.items()}
        yield {**rows_of(reply), **rewards, "prompt": list(reply.prompt), "reply": reply.reply}


def supervised(replies: Iterable[JudgedReply]) -> Iterator[Row]:
    """The replies whose candidates held, as prompt and completion."""
    for reply in replies:
        if reply.held:
            yield {**rows_of(reply), "prompt": list(reply.prompt), "completion": _said(reply)}


def preferences(replies: Iterable[JudgedReply]) -> Iterator[Row]:
    """Pairs of replies to one parent of which one is better for sure: `chosen` before `rejected`.

    The measured time decides, and right before wrong; where the intervals of both times overlap, or
    neither is right, there is no pair. The prompt is that of the chosen one; `same_prompt` says
    whether the other was asked the same, word for word.
    """
    for group in _by_parent(replies):
        for one, other in combinations(group, 2):
            pair = _ordered(one, other)
            if pair is None:
                continue
            chosen, rejected = pair
            yield {
                **rows_of(chosen),
                "prompt": list(chosen.prompt),
                "chosen": _said(chosen),
                "rejected": _said(rejected),
                "rejected_id": rejected.id,
                "rejected_verdict": why(rejected.evaluation),
                "rejected_speedup": rejected.evaluation.speedup,
                "same_prompt": chosen.prompt == rejected.prompt,
            }


def groups(replies: Iterable[JudgedReply]) -> Iterator[Row]:
    """The replies to one parent, two or more, with their rewards: a group of GRPO's."""
    for group in _by_parent(replies):
        if len(group) < 2:
            continue
        first = rows_of(group[0])
        kept = ("task", "task_id", "family", "dialect", "hardware", "parent", "parent_speedup")
        yield {
            **{name: first[name] for name in kept},
            "prompt": list(group[0].prompt),
            "replies": [reply.reply for reply in group],
            "ids": [reply.id for reply in group],
            "verdicts": [why(reply.evaluation) for reply in group],
            "speedups": [reply.evaluation.speedup for reply in group],
            "rewards": {
                **{name: [of(reply.evaluation) for reply in group] for name, of in REWARDS.items()},
                "smoothed": smoothed([reply.evaluation for reply in group]),
            },
            "same_prompt": all(reply.prompt == group[0].prompt for reply in group),
        }


def contrastive(replies: Iterable[JudgedReply]) -> Iterator[Row]:
    """Two variants of a task that differ in speed, with their scores, before a reply that was
    faster than both.

    The two are drawn as CUDA-L1's eq. 1 has it, of variants that were slower than the reply beyond
    both intervals, by the reply's id as the seed. The completion is the reply's own.
    """
    of_task: dict[str, list[JudgedReply]] = defaultdict(list)
    for reply in replies:
        if reply.held:
            of_task[reply.task_id].append(reply)
    for group in of_task.values():
        for reply in group:
            slower = [other for other in group if _is_faster(reply, other)]
            shown = _drawn(slower, seed=int(reply.id.rpartition("-")[2][:12], 16))
            if len(shown) == 2:
                yield {
                    **rows_of(reply),
                    "prompt": _contrast(reply, shown),
                    "completion": _said(reply),
                    "exemplars": [other.id for other in shown],
                }


SETS: Mapping[str, Callable[[Iterable[JudgedReply]], Iterator[Row]]] = {
    "replies": every_reply,
    "supervised": supervised,
    "preferences": preferences,
    "groups": groups,
    "contrastive": contrastive,
}
"""The sets of an export, by the name of their file."""


def _said(reply: JudgedReply) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": reply.reply}]


def _by_parent(replies: Iterable[JudgedReply]) -> Iterator[list[JudgedReply]]:
    """By task, GPU and parent, each candidate once."""
    found: dict[tuple[str, str, str], dict[str, JudgedReply]] = defaultdict(dict)
    for reply in replies:
        place = found[reply.task_id, reply.hardware, reply.parent]
        place.setdefault(reply.candidate, reply)
    for group in found.values():
        yield list(group.values())


def _ordered(one: JudgedReply, other: JudgedReply) -> tuple[JudgedReply, JudgedReply] | None:
    """The better one first; None if neither is better for sure."""
    if one.held != other.held:
        return (one, other) if one.held else (other, one)
    if not one.held:
        return None
    if _is_faster(one, other):
        return one, other
    return (other, one) if _is_faster(other, one) else None


def _is_faster(one: JudgedReply, other: JudgedReply) -> bool:
    """Whether the intervals of both speedups lie apart."""
    first, second = one.evaluation.timing, other.evaluation.timing
    return first is not None and second is not None and first.speedup_low > second.speedup_high


def _drawn(replies: Sequence[JudgedReply], *, seed: int) -> list[JudgedReply]:
    """Two of them by CUDA-L1's draw, the slower one first; fewer if all are of one speed."""
    exemplars, by_id = Exemplars(), {}
    for reply in replies:
        candidate = Candidate(source=reply.code)
        by_id[candidate.id] = reply
        exemplars.add(Attempt(candidate=candidate, evaluation=reply.evaluation))
    drawn = exemplars.draw(seed=seed)
    return [by_id[each.candidate.id] for each in reversed(drawn) if each.candidate is not None]


def _contrast(reply: JudgedReply, shown: Sequence[JudgedReply]) -> list[dict[str, str]]:
    """What the reply's prompt said of the task and the GPU, then the variants with their scores."""
    system = [message for message in reply.prompt if message["role"] == "system"]
    user = next(message["content"] for message in reply.prompt if message["role"] == "user")
    parts = [_TASK_ENDS.split(user, maxsplit=1)[0].rstrip(), "# Variants that were measured"]
    for number, other in enumerate(shown, start=1):
        parts += [
            f"## Variant {number}: {other.evaluation.speedup:.2f} times as fast as the baseline",
            fence(other.code, Dialect(other.dialect).language),
        ]
    parts += ["# Now", _NOW]
    return [*system, {"role": "user", "content": "\n\n".join(parts)}]
