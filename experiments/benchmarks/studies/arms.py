"""An arm of a study as the parts of a run: the search's settings and the proposer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from codegen.scripted.proposer import ScriptedProposer
from experiments.benchmarks.studies.config import Arm, GuidanceMode, Study
from experiments.runs.options import names
from experiments.runs.wiring.choosing import LLM, check_constants, resolve_settings
from mcts.domain import Guidance, Hardware, KernelTask
from mcts.errors import InputError
from mcts.loop.reward import RewardSettings
from mcts.options import Algorithm
from mcts.ports import Proposal, ProposalRequest, Proposer
from mcts.requests import ProposerRequest
from mcts.search.port import SearchSettings


class AblatedProposer(Proposer):
    """A proposer that does not see the parts of a request that an arm ablates.

    The search itself still uses them: the scale of its rewards stays as it is.
    """

    def __init__(
        self, proposer: Proposer, *, guidance: GuidanceMode, lessons: bool, history: bool
    ) -> None:
        self.name, self.inline = proposer.name, proposer.inline
        self._proposer, self._guidance = proposer, guidance
        self._lessons, self._history = lessons, history

    def propose(self, request: ProposalRequest) -> Proposal:
        return self._proposer.propose(self._ablated(request))

    def price(self, usage: Mapping[str, Any]) -> float | None:
        return self._proposer.price(usage)

    def close(self) -> None:
        self._proposer.close()

    def _ablated(self, request: ProposalRequest) -> ProposalRequest:
        if not self._lessons:
            request = replace(request, lessons=())
        if not self._history:
            request = replace(request, history=())
        if self._guidance == "roofline":
            request = replace(request, guidance=Guidance(roofline=request.guidance.roofline))
        if self._guidance in ("counters", "none"):
            request = replace(request, guidance=Guidance())
        if self._guidance == "none":
            request = replace(request, profile=None)
        return request


def settings_of(arm: Arm, *, length: int = 0) -> tuple[SearchSettings, RewardSettings]:
    """The constants of the arm's search, for runs of `length` unique evaluations, and those of its
    reward.

    InputError for a search or a setting nobody knows.
    """
    algorithm = Algorithm(name=arm.search, constants=arm.settings)
    search, reward = resolve_settings(algorithm)
    return search.for_run_of(length), reward


def proposer_of(arm: Arm, task: KernelTask, hardware: Hardware) -> Proposer:
    """The arm's proposer. InputError if it cannot work here."""
    if arm.proposer == LLM:
        raise InputError(
            "a study replays recordings, which hold no new code: proposer llm cannot be an arm"
        )
    request = ProposerRequest(task=task, tunables_only=True, hardware=hardware)
    proposer: Proposer = names.load(names.PROPOSERS, arm.proposer)(request)
    if not arm.implementations:
        if not isinstance(proposer, ScriptedProposer):
            raise InputError("implementations = false is for proposer scripted")
        proposer = ScriptedProposer(implementations=False)
    if arm.guidance == "tools" and arm.lessons and arm.history:
        return proposer
    return AblatedProposer(
        proposer, guidance=arm.guidance, lessons=arm.lessons, history=arm.history
    )


def check_searches(study: Study) -> None:
    """InputError, with the arm's name, for one whose search or settings are none."""
    for name, arm in study.arms.items():
        try:
            settings_of(arm)
            check_constants(Algorithm(name=arm.search, constants=arm.settings))
        except InputError as error:
            raise InputError(f"arm {name}: {error}") from None


def check_arms(study: Study, task: KernelTask, hardware: Hardware) -> None:
    """InputError, with the arm's name, for one that could not run."""
    check_searches(study)
    for name, arm in study.arms.items():
        try:
            proposer_of(arm, task, hardware)
        except InputError as error:
            raise InputError(f"arm {name}: {error}") from None
