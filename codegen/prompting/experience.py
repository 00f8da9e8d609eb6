"""What other runs make one expect of each method, in a state like the parent's."""

from __future__ import annotations

import math
import random
import re

from codegen.prompting.budget import Part, Section
from mcts.knowledge.base import ANY, Experience
from mcts.knowledge.belief import sampled
from mcts.knowledge.moves import Act
from mcts.ports import ProposalRequest
from mcts.search.seeding import seed_from

MOST_SHOWN = 8
_CLOSENESS = (
    "in other states",
    "with a bottleneck like this",
    "in nearly this state",
    "in this very state",
)


def experience_section(request: ProposalRequest) -> Section:
    """A line for each of the most promising methods, and last for what mostly lost.

    Which are shown is drawn anew for each trial, so that what is little known comes up as well.
    """
    applied = {
        one.act: one
        for one in request.experience
        if one.act.method != ANY and not one.act.undone and one.evidence.tried
    }
    beliefs = {act: one.belief for act, one in applied.items()}
    drawn = sampled(beliefs, random.Random(seed_from(request.seed, "experience")))
    shown = sorted(drawn, key=lambda act: -drawn[act])
    if len(shown) > MOST_SHOWN:
        shown = [*shown[: MOST_SHOWN - 2], *shown[-2:]]
    parts = tuple(
        Part(f"- `{_id(act)}`: {_words(applied[act])}", "lesson", rank)
        for rank, act in enumerate(shown)
    )
    return Section(
        title="What runs on other kernels taught",
        lead="Expected gain by method in a performance state like this one, with a range of one "
        "standard deviation. It is advice from elsewhere: the profile above goes before it.",
        parts=parts,
    )


def _words(one: Experience) -> str:
    low, high = one.belief.mean - one.belief.spread, one.belief.mean + one.belief.spread
    seen, tasks = one.evidence, one.tasks
    facts = [
        f"expect {math.exp(one.belief.mean):.2f}x ({math.exp(low):.2f} to {math.exp(high):.2f})",
        f"tried {seen.tried} times on {tasks} task{'' if tasks == 1 else 's'}, the closest "
        f"{_CLOSENESS[one.closeness]}",
        f"{seen.improved} faster",
    ]
    if seen.failed:
        facts.append(f"{seen.failed} failed")
    if seen.unrealised:
        facts.append(f"{seen.unrealised} times it never appeared in the machine code")
    return ", ".join(facts)


def _id(act: Act) -> str:
    return re.sub(r"[^\w.-]+", "_", act.method)[:60]
