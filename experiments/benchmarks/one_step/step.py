"""One step: one arm asked for one reply from one parent, and what is kept of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from codegen.chat.clients import with_protocol
from codegen.chat.messages import ChatClient
from codegen.llm import LlmProposer
from experiments.benchmarks.one_step.parents import Parent
from experiments.runs.options.libraries import open_library, read_library
from mcts.domain import Candidate, Evaluation, Noun, tagged_hash
from mcts.domain.objective import Ranking
from mcts.errors import NoMoves, ProposalRejected
from mcts.journal.spending import told_cost, told_count
from mcts.loop.branches import candidates_of, select
from mcts.options import ModelOptions
from mcts.ports import Advisor, Evaluator, Proposal, ProposalRequest
from mcts.search.seeding import seed_from
from mcts.search.trial import Move
from microtools.toolbox import ChosenTools


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One reply to ask for. `arm_id` is equal for arms that ask alike."""

    study: str
    arm: str
    arm_id: str
    options: ModelOptions
    parent: Parent
    reply: int
    version: str

    @property
    def key(self) -> str:
        """Equal for steps that must give the same line, however the arm is called."""
        return tagged_hash(
            "step",
            {
                "study": self.study,
                "arm": self.arm_id,
                "task": self.parent.task_id,
                "parent": self.parent.candidate,
                "reply": self.reply,
                "version": self.version,
            },
        )

    @property
    def task_key(self) -> str:
        """Equal for steps of one task."""
        return self.parent.task_id

    @property
    def seed(self) -> int:
        """The same for all arms: what differs is what they are told."""
        return seed_from(self.study, self.parent.task_id, self.parent.candidate, self.reply)


class StepResult(Noun):
    """What a study keeps of a step: one line of JSON.

    status: that of the child's evaluation; `rejected` for a reply that holds no usable candidate,
    `same` for one that gives the parent back.
    Speedups are over the same baseline, with their 95 % intervals.
    """

    key: str
    arm: str
    task: str
    parent: str
    reply: int
    status: str
    message: str = ""
    candidate: str | None = None
    methods: tuple[str, ...] = ()
    parent_speedup: float
    parent_interval: tuple[float, float]
    speedup: float | None = None
    interval: tuple[float, float] | None = None
    prompt: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None
    replies: int = 0

    @property
    def gain(self) -> float | None:
        """The child's speed over its parent's; None if there is no child that is right."""
        return None if self.speedup is None else self.speedup / self.parent_speedup

    @property
    def kept_gain(self) -> float:
        """What a search that keeps the better of the two has gained: at least 1."""
        return max(1.0, self.gain or 1.0)

    @property
    def failed(self) -> bool:
        """Whether the reply brought no child that is right."""
        return self.speedup is None and self.status != "same"


@dataclass(frozen=True, slots=True)
class Laboratory:
    """Who measures and advises for the steps of one task, and who is asked with given options."""

    evaluator: Evaluator
    advisor: Advisor
    client_of: Callable[[ModelOptions], ChatClient]

    def request(self, step: Step, parent: Candidate) -> ProposalRequest:
        """What the proposer may look at: the parent alone, measured and profiled once for all arms.

        WorldError if the parent fails here: nothing can be compared with it.
        """
        evaluation = self.evaluator.evaluate(parent)
        if not evaluation.measured:
            raise ParentFails(f"the parent {step.parent.name} fails here: {evaluation.message}")
        profile = self.evaluator.profile(parent, evaluation)
        seen = evaluation.model_copy(update={"profile": profile})
        return ProposalRequest(
            task=self.evaluator.task,
            parent=parent,
            evaluation=evaluation,
            guidance=self.advisor.advise(self.evaluator.task, seen),
            move=Move("improve", 0),
            profile=profile,
            tried=frozenset({parent.id}),
            seed=step.seed,
        )

    def take(self, step: Step, parent: Candidate) -> StepResult:
        """Ask, judge, and say what came of it.

        Raises AnswerPending if the reply is not there yet, and what asking and measuring raise.
        """
        request = self.request(step, parent)
        try:
            proposal = self._ask(step, request)
        except (ProposalRejected, NoMoves) as error:
            return _line(
                step, request.evaluation, status="rejected", message=str(error), usage=error.usage
            )
        candidates = [each for each in candidates_of(proposal).values() if each.id != parent.id]
        if not candidates:
            return _line(step, request.evaluation, status="same", usage=proposal.usage)
        found = {at: self.evaluator.evaluate(each) for at, each in enumerate(candidates)}
        best = select(found, Ranking.calibrate(request.evaluation, "time")) or 0
        return _line(
            step,
            request.evaluation,
            status=found[best].status,
            message="" if found[best].measured else found[best].message,
            child=candidates[best],
            found=found[best],
            usage=proposal.usage,
        )

    def _ask(self, step: Step, request: ProposalRequest) -> Proposal:
        options = step.options
        library = None
        if options.library is not None:
            options = with_protocol(options)
            library = open_library(read_library(options.library or ""))
        proposer = LlmProposer(
            options,
            client=self.client_of(step.options),
            library=library,
            hardware=self.evaluator.hardware,
            tools=ChosenTools(),
        )
        with closing(proposer):
            return proposer.propose(request)


class ParentFails(Exception):
    """A parent that is no result here; its steps are left out, and counted."""


def _line(
    step: Step,
    parent: Evaluation,
    *,
    status: str,
    message: str = "",
    child: Candidate | None = None,
    found: Evaluation | None = None,
    usage: Mapping[str, Any],
) -> StepResult:
    told = usage
    speedup, low, high = _speedup(parent)
    theirs = _speedup(found) if found is not None and found.speedup is not None else None
    return StepResult(
        key=step.key,
        arm=step.arm,
        task=step.parent.task,
        parent=step.parent.name,
        reply=step.reply,
        status=status,
        message=message[:500],
        candidate=child.id if child else None,
        methods=child.methods if child else (),
        parent_speedup=speedup,
        parent_interval=(low, high),
        speedup=theirs[0] if theirs else None,
        interval=theirs[1:] if theirs else None,
        prompt=str(told.get("prompt", "")),
        prompt_tokens=told_count(told.get("prompt_tokens")),
        completion_tokens=told_count(told.get("completion_tokens")),
        cost_usd=told_cost(told.get("cost_usd")),
        replies=told_count(told.get("replies")) or 0,
    )


def _speedup(evaluation: Evaluation) -> tuple[float, float, float]:
    timing = evaluation.timing
    assert timing is not None and evaluation.speedup is not None, "it was measured"
    found = evaluation.speedup, timing.speedup_low, timing.speedup_high
    assert all(math.isfinite(value) for value in found), "evaluations are finite"
    return (round(found[0], 6), round(found[1], 6), round(found[2], 6))
