"""Is it right? Rounds of verification, each on inputs that nobody has seen."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any, NoReturn

from profilers.compiling.building import Failed
from profilers.kernelbench.judge.replies import forged, problems_of, text_of
from profilers.kernelbench.judge.rounds import Round
from profilers.kernelbench.judge.trial import Trial, new_name
from profilers.kernelbench.judge.verdicts import complaint, passes, too_far

_LATE = ("side_stream", "batched_calls")


class Verifier:
    """Verifies the candidate of a trial; raises what the trial's methods raise."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial

    def verify(self, rounds: Sequence[Round]) -> None:
        """Every round on inputs that nobody has seen; the first wrong one ends it."""
        for item in rounds:
            self._trial.doing = f"running on {item.label}"
            self.verify_one(item)
        self._trial.tally.conclude()

    def verify_one(self, item: Round) -> None:
        """One round; nothing happens where the task allows no such inputs."""
        name = new_name()
        drawn = self._trial.oracle.ask(
            "draw", id=name, seed=secrets.randbits(63), variation=item.variation,
            at=self._trial.layout.input_at(0),
        )  # fmt: skip
        if drawn["available"] is not True:
            return
        try:
            if item.weights != "same":
                # What the old weights make of it tells a candidate that has kept them.
                self._trial.oracle.ask("expect", id=name, weights="current")
                self._trial.renew(part=item.weights == "partly new")
            self._trial.oracle.ask("expect", id=name, weights="current")
            reply = self._trial.worker.ask(
                "call", inputs=drawn["inputs"], at=0, late_at=self._trial.layout.late_at,
                may_refuse=item.may_refuse, timeout_s=self._first_call_s(item),
            )  # fmt: skip
            if said := text_of(reply, "refused"):
                if not item.may_refuse:
                    raise forged("it refuses inputs that it was not free to refuse")
                self._trial.tally.notes.append(f"refuses another batch size: {said}")
                return
            problems = problems_of(reply)
            self._trial.heed([found for found in problems if found["cheat"] not in _LATE])
            if not self._compare(item, name, reply):
                self._trial.heed(problems)
        finally:
            self._trial.oracle.ask("forget", ids=[name])

    def _compare(self, item: Round, name: str, reply: dict[str, Any]) -> bool:
        """Whether the outputs were right only later: work goes on behind the caller's stream."""
        prompt = self._trial.compared(name, reply.get("outputs"))
        late = None if passes(prompt) else self._trial.compared(name, reply.get("late"))
        if late is not None and not passes(late):
            self._trial.heed([*prompt.get("problems", ()), *late.get("problems", ())])
            self._conclude_wrong(item, prompt)
        self._judge_errors(item, late or prompt)
        self._trial.tally.late = self._trial.tally.late or late is not None
        return late is not None

    def _conclude_wrong(self, item: Round, comparison: dict[str, Any]) -> NoReturn:
        """A precision that was betrayed before is what fails here too, unless nothing is right."""
        tally = self._trial.tally
        sized = not comparison["structure"]
        if sized and too_far(comparison, error_factor=tally.error_factor) is None:
            tally.conclude()
        self._wrong(item, complaint(comparison))

    def _judge_errors(self, item: Round, passing: dict[str, Any]) -> None:
        factor = self._trial.tally.error_factor
        if (why := too_far(passing, error_factor=factor)) is not None:
            self._wrong(item, why)
        self._trial.tally.take(passing, label=item.label)

    def _wrong(self, item: Round, detail: str) -> NoReturn:
        self._trial.tally.rounds += 1
        detail = f"{item.label}: {detail}"
        raise Failed(
            "wrong_result",
            detail,
            build=self._trial.build,
            verification=self._trial.tally.verification(passed=False, detail=detail),
        )

    def _first_call_s(self, item: Round) -> float:
        """What a call may take: the first of a shape may compile, as JITs and autotuners do."""
        fresh = self._trial.tally.rounds == 0 or item.variation == "batch"
        return max(self._trial.deadline_s, self._trial.settings.load_deadline_s if fresh else 0.0)
