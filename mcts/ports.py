"""The seams: what the loop needs from the packages above, and nothing more.

A port is a base class. What every implementation must do is abstract; what it may do besides has a
default, and a flag says what it can where the loop must know beforehand. Every implementation must
pass its contract suite in `mcts.testing`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from mcts.domain import Candidate, Evaluation, Guidance, Hardware, KernelTask, Lesson, Profile
from mcts.errors import NoMoves
from mcts.knowledge.base import Experience
from mcts.search.trial import Move


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What was proposed before in this run, and what came of it.

    A reply that held no usable candidate has neither candidate nor evaluation, only a `reason`.
    `seconds` is how long measuring it took, where that counts.
    """

    candidate: Candidate | None = None
    evaluation: Evaluation | None = None
    reason: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingTrial:
    """A trial that was asked before another and is not answered when that one is asked.

    `choice` is which of its ideas the proposer was to take, 1 for the best.
    """

    parent: Candidate
    move: Move
    choice: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalRequest:
    """All a proposer may look at.

    `lessons` are of this run; `experience` is what other runs make one expect in the parent's
    state. `siblings` are the parent's earlier children, oldest first. `exemplars` are measured
    variants from elsewhere in the tree, of different speeds, to contrast with the parent. `profile`
    is what the hardware did for the parent, where that was measured, and `profile_before` for the
    variant that the parent came from. `history` holds what was
    judged in this run, the baseline first, each candidate once. `pending` are the trials in flight
    beside this one, in the order they were asked; none if trials run one at a time.

    `tried` holds the ids of every candidate proposed so far in this run; proposing one of them
    again is allowed and costs nothing, but brings nothing either. `seed` is fresh per trial and
    the only randomness a proposer may use, so that a run can be repeated.
    """

    task: KernelTask
    parent: Candidate
    evaluation: Evaluation
    guidance: Guidance
    lessons: tuple[Lesson, ...] = ()
    experience: tuple[Experience, ...] = ()
    move: Move
    siblings: tuple[Attempt, ...] = ()
    exemplars: tuple[Attempt, ...] = ()
    profile: Profile | None = None
    profile_before: Profile | None = None
    history: tuple[Attempt, ...] = ()
    pending: tuple[PendingTrial, ...] = ()
    tried: frozenset[str] = frozenset()
    seed: int = 0

    @property
    def choice(self) -> int:
        """Which idea to take, 1 for the best: the first that no trial pending on the same parent
        was asked for, so that trials side by side do not all take the best.
        """
        taken = {other.choice for other in self.pending if other.parent.id == self.parent.id}
        return min(set(range(1, len(taken) + 2)) - taken)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A candidate, how much its proposer expects of it, and what the proposal cost.

    `prior` in (0, 1] steers selection among siblings; it never enters a result.
    `usage` is JSON-safe (prompt_tokens, completion_tokens, cost_usd, model, ...) and is journalled
    as it is. `branches` are the same idea with other values of its tunables: they are verified and
    timed as well, and the fastest becomes the node.
    """

    candidate: Candidate
    branches: tuple[Candidate, ...] = ()
    prior: float = 0.5
    usage: Mapping[str, Any] = field(default_factory=dict)


class Proposer(ABC):
    """Writes the next variant.

    `name` says what it is, for reports. `inline` is True if `propose` is pure and quick: the loop
    then calls it in the order of the trials, so that it sees every earlier candidate in `tried`,
    also of trials still in flight. Otherwise `propose` runs in a worker thread, several at once: it
    must be thread-safe. `can_ablate` and `can_tune` say whether `without` and `retuned` can do
    anything.
    """

    name: str
    inline: bool = False
    can_ablate: bool = False
    can_tune: bool = False

    @abstractmethod
    def propose(self, request: ProposalRequest) -> Proposal:
        """Return a proposal for the request.

        Raises NoMoves when nothing is left to try from this parent, ProposalRejected when the
        answer is no usable candidate, NotRecorded when a replay could not judge it, WorldError when
        no answer could be had.
        """

    def price(self, usage: Mapping[str, Any]) -> float | None:
        """US dollars for a reply with this `usage`, by the prices known now; None if unknown."""
        return None

    def without(self, request: ProposalRequest, method: str) -> Proposal:
        """`request.parent` with `method` taken out and all else as it is.

        The variant claims the other methods still. Raises what `propose` raises; NoMoves if the
        method cannot be taken out.
        """
        raise NoMoves(f"the proposer {self.name} takes out no methods")

    def retuned(
        self, task: KernelTask, judged: Sequence[Attempt], *, best_speedup: float, seed: int
    ) -> Candidate | None:
        """Other values of a variant's tunables that are worth timing next; None if none are.

        Asked only if `can_tune`, after each of those in `judged`: what was proposed first, then
        what was timed beside it. `best_speedup` is the greatest known when the trial was asked for.
        """
        return None

    def close(self) -> None:  # noqa: B027
        """Give up connections and files, and with them what is in flight; idempotent."""


Stage = Literal["waiting", "compiling", "verifying", "timing", "metering", "profiling"]
"""What is done to a candidate. `waiting` is for a device that others use, `metering` of energy."""

StageObserver = Callable[[str, Stage], None]
"""Called with a candidate's id and what is done to it from now on; raises nothing."""


class Evaluator(ABC):
    """Judges candidates of one task. Thread-safe: the loop may call from several threads.

    A bad candidate is an `Evaluation` with a failing status, never an exception. A broken world
    is a WorldError. The same candidate may be judged twice; noise then differs, the status of a
    deterministic candidate does not.

    `devices` is how many devices it measures on at once. `can_confirm` says whether `confirm` is
    independent of what the search saw, `measures_energy` whether `measure_energy` does.
    """

    name: str
    task: KernelTask
    devices: int = 1
    can_confirm: bool = False
    measures_energy: bool = False

    @property
    @abstractmethod
    def hardware(self) -> Hardware:
        """What it measures on."""

    @abstractmethod
    def evaluate(self, candidate: Candidate) -> Evaluation:
        """Compile, verify and time `candidate` against the task's baseline.

        A replay raises NotRecorded for a candidate that its recording does not hold.
        """

    @abstractmethod
    def profile(self, candidate: Candidate, evaluation: Evaluation) -> Profile:
        """Say what the hardware did for a measured candidate.

        Separate from `evaluate` because profiling costs seconds where timing costs milliseconds,
        and only a variant that will be built upon needs it. What cannot be measured is named in
        `Profile.missing`; refused counters or an absent profiler are no error.
        """

    @abstractmethod
    def close(self) -> None:
        """Release workers, memory and locks; idempotent."""

    def profile_many(self, candidates: Sequence[Candidate]) -> list[Profile]:
        """Profile several candidates, in order: in one process if its start-up is most of it."""
        return [self.profile(each, self.evaluate(each)) for each in candidates]

    def confirm(self, candidate: Candidate, evaluation: Evaluation) -> Evaluation:
        """Judge a measured candidate afresh: other seeds, other processes, nothing kept.

        `evaluation` is what the search saw. The answer stands in its place and may be a failure;
        like `evaluate`, it raises nothing but WorldError.
        """
        return self.evaluate(candidate)

    def measure_energy(self, candidate: Candidate, evaluation: Evaluation) -> Evaluation:
        """`evaluation`, which is measured, with its `energy` beside the baseline's.

        If energy cannot be had, `energy` stays None and `notes` say why.
        """
        note = f"the evaluator {self.name} measures no energy"
        return evaluation.model_copy(update={"notes": (*evaluation.notes, note)})

    def tell_stages(self, observer: StageObserver) -> None:  # noqa: B027
        """Call `observer` whenever a candidate enters a stage, in place of an earlier observer.

        It is called by the thread that judges. Telling a stage twice changes nothing, and a stage
        may come back: a suspect timing is verified and timed anew. By default nothing is told.
        """


class Advisor(ABC):
    """Turns an evaluation with its profile into guidance; pure."""

    @abstractmethod
    def advise(self, task: KernelTask, evaluation: Evaluation) -> Guidance:
        """Findings and notes about a measured candidate; about a failed one, what failed."""


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the journal: `kind` with a JSON-safe payload, numbered from 1."""

    seq: int
    kind: str
    payload: Mapping[str, Any]


class Journal(ABC):
    """Append-only record of a run.

    `append` and `jot` may be called from several threads, but never from two at once.
    """

    @abstractmethod
    def append(self, kind: str, payload: Mapping[str, Any]) -> Event:
        """Write an event; returns only when it would survive a power cut."""

    @abstractmethod
    def events(self) -> Iterator[Event]:
        """All events, in the order they were written."""

    def jot(self, kind: str, payload: Mapping[str, Any]) -> None:  # noqa: B027
        """Write what only whoever watches the run wants to know, at next to no cost: a power cut
        may take it. By default it is not kept."""
