"""The state of a run while it goes, built up from its journal event by event.

What a running search shows of itself and what another terminal shows of it come from here alike.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from experiments.live.flights import Flight, Flights
from experiments.text.nodes import move_words
from mcts.domain import Evaluation
from mcts.domain.objective import Ranking, standing
from mcts.errors import JournalError
from mcts.journal.reading import RUNNING, EventReader
from mcts.journal.record import NodeKind
from mcts.journal.runlog import DAMAGES
from mcts.loop.budget import Budget
from mcts.loop.finalists import confirmation_words
from mcts.loop.progress import Progress, describe, status_words
from mcts.loop.world import Answer
from mcts.ports import Event


@dataclass(slots=True, kw_only=True)
class Spot:
    """A settled node. `speedup` is what the search saw; `visits` counts its subtree."""

    id: int
    parent: int | None
    kind: NodeKind
    candidate_id: str | None
    twin: int | None
    speedup: float | None
    status: str
    visits: int = 1


class Board:
    """What is known of a run so far. Not thread-safe."""

    def __init__(self) -> None:
        self._reader, self._flights = EventReader(), Flights()
        self._ranking: Ranking | None = None
        self._measured: dict[int, Evaluation] = {}
        self._moves: dict[int, list[str]] = {}
        self._best: int | None = None
        self._moments: tuple[float, float] = (0.0, 0.0)
        self.spots: dict[int, Spot] = {}
        self.failures: Counter[str] = Counter()
        self.curve: list[float] = []
        self.title = ""
        self.evaluator = ""
        self.last = "not begun yet"
        self.confirming = False
        self.events, self.last_event_at = 0, 0.0

    def take(self, event: Event, at: float) -> None:
        """Read one event, written at `at` (seconds since the epoch).

        Raises JournalError if it is damaged.
        """
        try:
            self._reader.take(event)
            self._flights.take(event, at)
            self._note(event)
        except DAMAGES as error:
            raise JournalError(f"the run's journal is damaged: {error}") from error
        self.events, self.last_event_at = self.events + 1, at
        if event.kind in ("started", "resumed") or "elapsed_s" in event.payload:
            self._moments = (self._reader.seconds, at)

    def _note(self, event: Event) -> None:
        payload = event.payload
        match event.kind:
            case "started":
                self.title = f"{payload['task']} on {payload['hardware']}"
                self.evaluator = payload["evaluator"]
                self.last = "measuring the baseline"
            case "resumed":
                self.confirming = False
                self.last = "going on"
            case "told":
                self._settle(event)
            case "abandoned":
                self.last = f"trial {payload['trial']} abandoned: {payload['reason']}"
            case "confirming":
                self.confirming = True
            case "confirmed":
                self._best = None
                self._tell_confirmed(payload["candidate_id"])

    def _settle(self, event: Event) -> None:
        told = event.payload
        evaluation = self._reader.evaluations.get(told["candidate_id"] or "")
        spot = Spot(
            id=told["trial"],
            parent=told["parent"],
            kind=told["kind"],
            candidate_id=told["candidate_id"],
            twin=told["duplicate_of"],
            speedup=evaluation.speedup if evaluation else None,
            status=status_words(evaluation) if evaluation else "no candidate",
        )
        self.spots[spot.id] = spot
        self.last = describe(told, Answer(evaluation=evaluation))
        above = spot.parent
        while above is not None:
            self.spots[above].visits += 1
            above = self.spots[above].parent
        if evaluation is None or evaluation.speedup is None:
            self.failures[spot.status.replace("_", " ")] += 1
            return
        if spot.id == 0:
            self._ranking = Ranking.calibrate(
                evaluation, self._reader.objective, own_times=self._reader.own_times
            )
        self._measured[spot.id], self._best = evaluation, None
        top = self.curve[-1] if self.curve else 0.0
        self.curve.append(top if evaluation.held_back else max(top, evaluation.speedup))

    def _tell_confirmed(self, candidate_id: str) -> None:
        before = self._reader.evaluations.get(candidate_id)
        again = self._reader.confirmed[candidate_id]
        if before is not None:
            self.last = f"finalist: {confirmation_words(before, again)}"

    # What is asked of it.

    @property
    def reader(self) -> EventReader:
        """What the events hold, in full."""
        return self._reader

    @property
    def running(self) -> bool:
        """Whether the journal knows of no end; the writer may have crashed all the same."""
        return self._reader.stop_reason == RUNNING

    @property
    def flights(self) -> list[Flight]:
        return self._flights.out

    @property
    def in_flight(self) -> int:
        """Trials under way."""
        return self._flights.trials

    @property
    def best(self) -> int | None:
        """The node to hand back by now; None before the baseline is measured."""
        if self._best is None and self._ranking is not None:
            candidates = standing(self._measured, self._reader.confirmed)
            self._best = self._ranking.best(candidates) or 0
        return self._best

    def verdict(self, node: int) -> Evaluation | None:
        """The evaluation that counts of a measured node."""
        evaluation = self._measured.get(node)
        if evaluation is None:
            return None
        return self._reader.confirmed.get(evaluation.candidate_id, evaluation)

    def path_to(self, node: int) -> list[int]:
        """Ids from the baseline down to `node`."""
        path = [node]
        while (parent := self.spots[path[-1]].parent) is not None:
            path.append(parent)
        return path[::-1]

    def moves(self, node: int) -> list[str]:
        """What a node changed against its parent, in words."""
        if node not in self._moves:
            spot = self.spots[node]
            above = self.spots[spot.parent] if spot.parent is not None else None
            before = self._reader.candidate(above.id, above.candidate_id) if above else None
            after = self._reader.candidate(node, spot.candidate_id)
            self._moves[node] = move_words(before, after)
        return self._moves[node]

    @property
    def unique(self) -> int:
        """Distinct candidates evaluated, the baseline not."""
        judged = {
            spot.candidate_id for spot in self.spots.values() if spot.status != "no candidate"
        }
        judged.update(*self._reader.branches.values())
        return max(0, len(judged) - 1)

    @property
    def told(self) -> int:
        """Trials told; neither the baseline nor a restart is one."""
        return max(0, len(self.spots) - 1 - len(self._reader.restarted))

    def elapsed_s(self, now: float) -> float:
        """Wall clock spent on the run until `now`, earlier sessions included."""
        known, at = self._moments
        return known + max(0.0, now - at) if self.running and at else known

    def progress(self, *, now: float, caps: Budget | None, known: bool) -> Progress:
        """The same figures that a running search tells of itself.

        `caps` are None if the run's configuration cannot be read; then the budget is 0. `known`:
        these events happened before this display was opened.
        """
        baseline = self.verdict(0)
        best = self.verdict(self.best) if self.best is not None else None
        return Progress(
            evaluations=self.told,
            budget=caps.evaluations if caps else 0,
            unique=self.unique,
            failed=sum(self.failures.values()),
            in_flight=self.in_flight,
            nodes=len(self.spots),
            baseline_us=baseline.timing.median_us if baseline and baseline.timing else None,
            best_us=best.timing.median_us if best and best.timing else None,
            best_speedup=best.speedup if best else None,
            elapsed_s=self.elapsed_s(now),
            last=self.last,
            replaying=known,
            phase="confirming" if self.confirming else "searching",
            spending=self._reader.spending,
            caps=caps,
        )
