"""Training sets out of judged replies, as plain rows: one function for each kind."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from codegen.prompting.untrusted import fence
from experiments.training.judged import MIXED, JudgedReply
from experiments.training.rewards import REWARDS, smoothed, why
from mcts.domain import Candidate, Dialect
from mcts.loop.exemplars import Exemplars
from mcts.ports import Attempt

Row = dict[str, Any]
Place = tuple[str, str, str]
"""Task, GPU and baseline: only within these are speedups compared."""
PLACE = ("task", "task_id", "family", "dialect", "hardware")
"""The columns that say of what and where."""
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
        "over": _over(reply) or None,
        "code": reply.code,
        "values": json.dumps(reply.values),
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
        kept = (*PLACE, "over", "parent", "parent_speedup")
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
    """Prompts that show two variants of a task with their scores, of which one is faster for sure,
    and ask for one that is faster than both: what CUDA-L1 trains on.

    Drawn as its eq. 1 has it, once for each variant that held, of all that were measured on the
    same GPU over the same baseline. There is no completion: none was written for such a prompt.
    `best_speedup` is the fastest known.
    """
    of_place: dict[Place, list[JudgedReply]] = defaultdict(list)
    for reply in replies:
        if reply.held and reply.hardware != MIXED:
            of_place[_place(reply)].append(reply)
    for group in of_place.values():
        best = max(reply.evaluation.speedup or 0.0 for reply in group)
        for reply in group:
            shown = _drawn(group, seed=int(reply.id.rpartition("-")[2][:12], 16))
            if len(shown) == 2 and _is_faster(shown[1], shown[0]):
                yield {
                    **{name: rows_of(reply)[name] for name in PLACE},
                    "over": _over(reply),
                    "prompt": _contrast(reply, shown),
                    "exemplars": [other.id for other in shown],
                    "verdicts": [why(other.evaluation) for other in shown],
                    "speedups": [other.evaluation.speedup for other in shown],
                    "best_speedup": best,
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
    """By parent, GPU and baseline, each candidate once."""
    found: dict[tuple[Place, str], dict[str, JudgedReply]] = defaultdict(dict)
    for reply in replies:
        if reply.hardware == MIXED:
            continue
        found[_place(reply), reply.parent].setdefault(reply.candidate, reply)
    for group in found.values():
        yield list(group.values())


def _place(reply: JudgedReply) -> Place:
    return reply.task_id, reply.hardware, _over(reply)


def _over(reply: JudgedReply) -> str:
    """The baseline that the parent was timed over, and so the reply, whether or not it was."""
    for evaluation in (reply.evaluation, reply.parent_evaluation):
        if evaluation is not None and evaluation.timing is not None:
            return evaluation.timing.baseline
    return ""


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
