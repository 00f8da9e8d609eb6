"""Verifies a candidate in rounds, each on fresh inputs."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any, NoReturn

from profilers.compiling.building import Failed
from profilers.kernelbench.judge.ahead import new_name
from profilers.kernelbench.judge.replies import forged, problems_of, text_of
from profilers.kernelbench.judge.rounds import VerificationRound
from profilers.kernelbench.judge.session import CandidateSession
from profilers.kernelbench.judge.verdicts import complaint, passes, too_far

_LATE = ("side_stream", "batched_calls")
_STRENGTHS = (0.5, 0.5, 1.0, 2.0, 4.0)
"""How much a row of the weights changes, again until outputs that ignore it would be found out."""
_CLEARLY = 2.0
_UNSEEN = "no change of a row of the weights was large enough to show in the outputs"


class Verifier:
    """Verifies the candidate of a session; raises what the session's methods raise."""

    def __init__(self, session: CandidateSession) -> None:
        self._session = session

    def verify(self, rounds: Sequence[VerificationRound]) -> None:
        """Every round on fresh inputs; the first wrong one ends it.

        What is too inexact near the drawn range is told as that, before what lies beyond is tried.
        Wrong results there are told once it is known that there are none elsewhere.
        """
        beyond: Failed | None = None
        for item in rounds:
            if item.kinds and beyond is not None:
                continue
            if item.kinds:
                self._session.tally.conclude()
            self._session.doing = f"running on {item.label}"
            try:
                self.verify_one(item)
            except Failed as failed:
                if not item.kinds:
                    raise
                beyond = failed
        self._session.tally.conclude()
        if beyond is not None:
            raise beyond

    def verify_one(self, item: VerificationRound) -> None:
        """One round; nothing happens if the task allows no such inputs."""
        session = self._session
        ready = session.ahead.take(session.oracle, item)
        name = ready.name if ready is not None else new_name()
        try:
            if ready is not None:
                (inputs,) = session.place([name])
            else:
                drawn = session.oracle.ask(
                    "draw", id=name, seed=secrets.randbits(63), variation=item.variation,
                    at=session.layout.input_at(0),
                )  # fmt: skip
                if drawn["available"] is not True:
                    return
                inputs = drawn["inputs"]
            expected = ready.expected if ready is not None else self._expected(item, name)
            factor = session.error_factor(centred=expected["centred"])
            reply = session.worker.ask(
                "call", inputs=inputs, at=0, late_at=session.layout.late_at,
                may_refuse=item.may_refuse, timeout_s=self._first_call_s(item),
            )  # fmt: skip
            if said := text_of(reply, "refused"):
                if not item.may_refuse:
                    raise forged("it refuses inputs that it was not free to refuse")
                session.tally.notes.append(f"refuses another batch size: {said}")
                return
            problems = problems_of(reply)
            session.raise_for([found for found in problems if found["cheat"] not in _LATE])
            if not self._compare(item, name, reply, factor):
                session.raise_for(problems)
        finally:
            session.forget([name])

    def _expected(self, item: VerificationRound, name: str) -> dict[str, Any]:
        """What is expected of the draw, by the weights that the round changes first."""
        if item.weights == "new":
            self._session.renew(part=False)
        if item.weights == "partly new":
            return self._renew_part(name)
        return self._session.oracle.ask("expect", id=name, **item.expecting)

    def _renew_part(self, name: str) -> dict[str, Any]:
        """Change a row of the weights so that it shows in the outputs of draw `name`.

        One element of a bias among thousands may be lost in the rounding of what it is added to,
        and a candidate that keeps what it derived from the weights would not be found out.
        Returns what is expected then.
        """
        session = self._session
        limits = {
            "tolerance": [session.tolerance.relative, session.tolerance.absolute],
            "error_ratio": _CLEARLY * session.settings.error_factor,
        }
        expected: dict[str, Any] = {}
        for strength in _STRENGTHS:
            session.renew(part=True, strength=strength)
            expected = session.oracle.ask("expect", id=name, stale=limits)
            if expected["stale_differs"] is not False:
                return expected
        if _UNSEEN not in session.tally.notes:
            session.tally.notes.append(_UNSEEN)
        return expected

    def _compare(
        self, item: VerificationRound, name: str, reply: dict[str, Any], error_factor: float
    ) -> bool:
        """Whether the outputs were right only later, because work went on in another stream."""
        prompt = self._session.compared(name, reply.get("outputs"))
        late = None if passes(prompt) else self._session.compared(name, reply.get("late"))
        if late is not None and not passes(late):
            self._session.raise_for([*prompt.get("problems", ()), *late.get("problems", ())])
            self._conclude_wrong(item, prompt)
        self._judge_errors(item, late or prompt, error_factor)
        self._session.tally.late = self._session.tally.late or late is not None
        return late is not None

    def _conclude_wrong(self, item: VerificationRound, comparison: dict[str, Any]) -> NoReturn:
        """Report a lower precision that was noticed before, unless the outputs are all wrong."""
        tally = self._session.tally
        sized = not comparison["structure"]
        if sized and too_far(comparison, error_factor=tally.error_factor) is None:
            tally.conclude()
        self._wrong(item, complaint(comparison))

    def _judge_errors(
        self, item: VerificationRound, passing: dict[str, Any], error_factor: float
    ) -> None:
        """How exact it is; beyond the drawn range being right is enough."""
        if item.kinds:
            self._session.tally.rounds += 1
            return
        factor = self._session.tally.error_factor
        if (why := too_far(passing, error_factor=factor)) is not None:
            self._wrong(item, why)
        self._session.tally.take(passing, label=item.label, error_factor=error_factor)

    def _wrong(self, item: VerificationRound, detail: str) -> NoReturn:
        self._session.tally.rounds += 1
        detail = f"{item.label}: {detail}"
        raise Failed(
            "wrong_result",
            detail,
            build=self._session.build,
            verification=self._session.tally.verification(passed=False, detail=detail),
        )

    def _first_call_s(self, item: VerificationRound) -> float:
        """Deadline of a call: the first of a shape may compile, as JITs and autotuners do."""
        fresh = self._session.tally.rounds == 0 or item.variation == "batch"
        return max(
            self._session.deadline_s, self._session.settings.load_deadline_s if fresh else 0.0
        )
