"""The nouns of recorded expansions: a tree of variants, and the replies that led to them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Literal, Self

from pydantic import Field, model_validator

from mcts.domain import Candidate, Evaluation, Noun, Roofline, tagged_hash
from mcts.options.model import Feedback
from mcts.search.trial import MoveKind

PromptFeedback = Feedback | Literal["unknown"]
"""What prompts said of the parent's profile."""


class RecordedRun(Noun):
    """A search that replies are from. `begun` is an ISO date, `replies` how many it got."""

    name: str
    begun: str
    rooftree: str
    search: str
    seed: int
    parallel: int
    evaluator: str
    proposer: str
    feedback: PromptFeedback
    replies: int


class Measurement(Noun):
    """What a variant came to in a run; `confirmed` if it was measured once more as a finalist."""

    run: str
    confirmed: bool = False
    evaluation: Evaluation


class Variant(Noun):
    """A node of the tree. `id` is the candidate's id where it was measured.

    from_baseline: its code is the baseline's, which is not kept: the candidate has none, and thus
    another id. measurements: empty if the evaluator did not know the candidate. roofline: where the
    variant stands under it, if it was profiled because something was proposed from it.
    """

    id: str
    candidate: Candidate
    from_baseline: bool = False
    measurements: tuple[Measurement, ...] = ()
    roofline: Roofline | None = None

    @property
    def evaluation(self) -> Evaluation | None:
        """The first measurement, which is the one that counts."""
        searched = (one.evaluation for one in self.measurements if not one.confirmed)
        return next(searched, None)

    @property
    def speedup(self) -> float | None:
        """As it was first measured; None if it failed."""
        return self.evaluation.speedup if self.evaluation else None


class Reply(Noun):
    """What was proposed from `parent`, and by which move.

    variants: the ids of the proposed candidate and of its branches, none if the reply held no
    usable candidate; `reason` then says why. trial, ordinal: the trial's number in its run, and how
    many children the parent had there before. What it cost is None if that is not known.
    """

    parent: str
    variants: tuple[str, ...] = ()
    reason: str = ""
    run: str
    trial: int
    ordinal: int
    move: MoveKind
    far: bool = False
    prior: float = Field(default=0.5, gt=0, le=1)
    model: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None


class ExpansionTree(Noun):
    """All that was recorded of one task on one kind of device.

    task_id: the task's hash, which covers its files' text; none of that text is kept. over: what
    speedups are over. root: the baseline's variant. runs: by id.
    """

    task: str
    task_id: str
    dialect: str
    hardware: str
    over: str
    root: str
    runs: dict[str, RecordedRun]
    variants: tuple[Variant, ...]
    replies: tuple[Reply, ...]

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if len(self.by_id) < len(self.variants):
            raise ValueError("two variants have one id")
        if len({variant.candidate.id for variant in self.variants}) < len(self.variants):
            raise ValueError("two variants have one candidate")
        for variant in self.variants:
            if not variant.from_baseline and variant.candidate.id != variant.id:
                raise ValueError(f"{variant.id} is not the id of its candidate")
            if any(one.evaluation.candidate_id != variant.id for one in variant.measurements):
                raise ValueError(f"{variant.id} has a measurement of another candidate")
        for reply in self.replies:
            if unknown := {reply.parent, *reply.variants} - self.by_id.keys():
                raise ValueError(f"a reply names the unknown variant {min(unknown)}")
        if self.root not in self.by_id or self.by_id[self.root].speedup is None:
            raise ValueError("the baseline was not measured")
        return self

    @cached_property
    def by_id(self) -> Mapping[str, Variant]:
        return {variant.id: variant for variant in self.variants}

    @cached_property
    def children(self) -> Mapping[str, tuple[Reply, ...]]:
        """The replies below each variant that was expanded, in their order."""
        found: dict[str, list[Reply]] = {}
        for reply in self.replies:
            found.setdefault(reply.parent, []).append(reply)
        return {parent: tuple(replies) for parent, replies in found.items()}

    @cached_property
    def content_id(self) -> str:
        """Hash of all that is in the tree."""
        return tagged_hash("expansions", self.model_dump(mode="json"))

    @property
    def best(self) -> float:
        """The greatest speedup recorded that may be handed back; 1 if nothing was faster."""
        found = [variant.evaluation for variant in self.variants]
        return max([1.0, *(one.speedup or 1.0 for one in found if one and not one.held_back)])

    @property
    def failed(self) -> int:
        """How many replies brought nothing that was measured."""
        return sum(
            all(self.by_id[id].speedup is None for id in reply.variants) for reply in self.replies
        )

    @property
    def depth(self) -> int:
        """How many steps the farthest variant is from the baseline."""
        steps, reached = {self.root: 0}, [self.root]
        for parent in reached:
            for reply in self.children.get(parent, ()):
                new = [id for id in reply.variants if id not in steps]
                steps.update(dict.fromkeys(new, steps[parent] + 1))
                reached += new
        return max(steps.values())


def merged(one: ExpansionTree, other: ExpansionTree) -> ExpansionTree:
    """Both trees of a task as one; a variant in both keeps its first measurement and all others.

    Raises ValueError if they share a run, or cannot be compared.
    """
    for name in ("task_id", "dialect", "hardware", "over", "root"):
        if getattr(one, name) != getattr(other, name):
            raise ValueError(
                f"the runs of task {one.task} differ in their {name}: {getattr(one, name)} and "
                f"{getattr(other, name)}"
            )
    if shared := one.runs.keys() & other.runs.keys():
        raise ValueError(f"the run {one.runs[min(shared)].name} is given twice")
    variants = dict(one.by_id)
    for variant in other.variants:
        mine = variants.setdefault(variant.id, variant)
        if mine is not variant:
            update = {
                "measurements": (*mine.measurements, *variant.measurements),
                "roofline": mine.roofline or variant.roofline,
            }
            variants[variant.id] = mine.model_copy(update=update)
    return ExpansionTree(
        **{name: getattr(one, name) for name in ("task", "task_id", "dialect", "hardware", "over")},
        root=one.root,
        runs={**one.runs, **other.runs},
        variants=tuple(variants.values()),
        replies=(*one.replies, *other.replies),
    )
