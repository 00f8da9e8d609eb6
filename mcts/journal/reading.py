"""What a journal says, sorted by trial and by candidate."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from mcts.domain import Attribution, Candidate, Evaluation, Guidance, Profile
from mcts.domain.objective import OBJECTIVES
from mcts.journal.spending import NOTHING, Receipts, Spending, seconds_of
from mcts.journal.stages import CONFIRMING, PROPOSING, stages_of
from mcts.options.search import Objective
from mcts.ports import Event

RUNNING = "running or crashed"


class EventReader:
    """Collects what the events say. `spent` is by trial, None for what belongs to no trial;
    `stages` has the seconds of all trials together by what was done in them.
    """

    def __init__(self) -> None:
        self._proposed: dict[int, dict[str, Candidate]] = defaultdict(dict)
        self._first: dict[str, Candidate] = {}
        self.evaluations: dict[str, Evaluation] = {}
        self.confirmed: dict[str, Evaluation] = {}
        self.profiles: dict[str, Profile] = {}
        self.guidance: dict[int, Guidance] = {}
        self.usage: dict[int, Mapping[str, Any]] = {}
        self._receipts = Receipts()
        self.told: dict[int, Mapping[str, Any]] = {}
        self.branches: dict[int, tuple[str, ...]] = {}
        self.restarted: set[int] = set()
        self.attributions: dict[int, list[Attribution]] = defaultdict(list)
        self.spent: dict[int | None, Spending] = defaultdict(lambda: NOTHING)
        self.profile_s: dict[str, float] = {}
        self.stages: dict[str, float] = defaultdict(float)
        self.objective: Objective = "time"
        self.own_times = False
        self.stop_reason = RUNNING
        self.unrecorded = 0
        self.seconds = 0.0

    def take(self, event: Event) -> None:
        """Read one event; one of `DAMAGES` if it is damaged."""
        payload = event.payload
        match event.kind:
            case "proposed" | "rejected" | "no_moves" | "abandoned" | "removed":
                self._take_reply(event.kind, payload)
            case "unrecorded":
                self._take_reply(event.kind, payload)
                self.unrecorded += 1
            case "priced" | "removal_priced":
                self.spent[payload.get("trial")] += self._receipts.take(event.kind, payload)
            case "tuned":
                self._take_variant(payload["trial"], payload["candidate"])
            case "branched":
                self.branches[payload["trial"]] = (*payload["losers"], *payload["failed"])
            case "restarted":
                self.restarted.add(payload["trial"])
            case "measured" | "confirmed" | "profiled" | "broken":
                self._take_judging(event.kind, payload)
            case "advised":
                self.guidance[payload["node"]] = Guidance.model_validate(payload["guidance"])
            case "attributed":
                found = Attribution.model_validate(payload["attribution"])
                self.attributions[payload["node"]].append(found)
            case "told":
                self.told[payload["trial"]] = payload
            case "stopped":
                self.stop_reason = _text(payload["reason"])
            case "started":
                self.objective = _objective_of(payload)
                self.own_times = bool(payload.get("reward", {}).get("own_times", False))
            case "resumed":
                self.stop_reason = RUNNING
        self.seconds = max(self.seconds, float(payload.get("elapsed_s", 0.0)))

    def _take_reply(self, kind: str, payload: Mapping[str, Any]) -> None:
        trial: int | None = payload.get("trial")
        self.spent[trial] += self._receipts.take(kind, payload)
        if (took := seconds_of(payload)) > 0:
            self.stages[PROPOSING] += took
        if kind in ("proposed", "rejected", "no_moves") and trial is not None:
            self.usage[trial] = payload.get("usage", {})
        if kind == "proposed":
            for content in [payload["candidate"], *payload.get("branches", ())]:
                self._take_variant(payload["trial"], content)

    def _take_variant(self, trial: int, content: Mapping[str, Any] | None) -> None:
        """A candidate that belongs to a trial; None where there was none."""
        if content is not None:
            candidate = Candidate.model_validate(content)
            self._proposed[trial].setdefault(candidate.id, candidate)
            self._first.setdefault(candidate.id, candidate)

    def _take_judging(self, kind: str, payload: Mapping[str, Any]) -> None:
        for stage, seconds in stages_of(payload).items():
            self.stages[CONFIRMING if kind == "confirmed" else stage] += seconds
        if kind == "profiled":
            candidate_id = payload["candidate_id"]
            self.profiles[candidate_id] = Profile.model_validate(payload["profile"])
            self.profile_s[candidate_id] = seconds_of(payload)
            return
        self.spent[payload.get("trial")] += Spending(gpu_s=seconds_of(payload))
        if kind != "broken":
            evaluation = Evaluation.model_validate(payload["evaluation"])
            kept = self.evaluations if kind == "measured" else self.confirmed
            kept[evaluation.candidate_id] = evaluation

    def candidate(self, trial: int, candidate_id: str | None) -> Candidate | None:
        """A trial's candidate with the claims that it was proposed with there; a restart's with
        those of the branch that it was."""
        own = self._proposed.get(trial, {})
        return own.get(candidate_id or "") or self._first.get(candidate_id or "")

    def evaluation(self, candidate_id: str | None) -> Evaluation | None:
        """A candidate's evaluation, with its profile where there is one."""
        evaluation = self.evaluations.get(candidate_id or "")
        profile = self.profiles.get(candidate_id or "")
        if evaluation is None or profile is None or not evaluation.measured:
            return evaluation
        return evaluation.model_copy(update={"profile": profile})

    @property
    def spending(self) -> Spending:
        """All that was spent, whoever it was for."""
        total = Spending(gpu_s=sum(self.profile_s.values()))
        return sum(self.spent.values(), total)

    def spending_of(self, node: int, candidate_id: str | None, *, twin: bool) -> Spending:
        """What a node cost; a profile is paid for by the node that first held its candidate."""
        profile_s = 0.0 if twin else self.profile_s.get(candidate_id or "", 0.0)
        return self.spent.get(node, NOTHING) + Spending(gpu_s=profile_s)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is no text")
    return value


def _objective_of(started: Mapping[str, Any]) -> Objective:
    named = started.get("objective", "time")
    for objective in OBJECTIVES:
        if objective == named:
            return objective
    raise ValueError(f"it was begun with the unknown objective {named!r}")
