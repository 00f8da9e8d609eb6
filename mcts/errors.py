"""One exception root. What a user can mend is `InputError`; what the world did is `WorldError`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class RooftreeError(Exception):
    """Root of every error Rooftree raises on purpose. Its text is one line a person can act on."""

    exit_code = 2


class _MayCost(RooftreeError):
    """What a question to a model can end with. `usage` is what it cost all the same, as in a
    `Proposal`.
    """

    def __init__(self, message: str = "", *, usage: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.usage: Mapping[str, Any] = dict(usage or {})


class InputError(_MayCost):
    """What was given (a task, a file, an option) is wrong; the text says what and what to do.

    It costs something where it ends a conversation with a model, by a key that no longer holds.
    """


class UnfitTask(InputError):
    """The task cannot be judged by the rules that were asked for, however often it is tried."""


class UnfairTask(UnfitTask):
    """The task proves nothing: its gate has refused it."""


class WorldError(_MayCost):
    """The world broke, not the candidate: no GPU, a lost LLM server, a full disk.

    A trial that ends so is abandoned: no visit is counted and its virtual loss is removed.
    """


class EnergyUnavailable(WorldError):
    """Energy cannot be measured here; the text says why (no counter, MIG, nothing above idle)."""


class Suspended(WorldError):
    """Nothing is wrong, but the run cannot go on for now. It stops and asks the same again when it
    goes on: no trial is abandoned.
    """


class AnswerPending(Suspended):
    """A question to a model has no answer yet."""


class JournalError(WorldError):
    """The run's journal cannot be read or written."""


class ProposalRejected(_MayCost):
    """A proposer answered with something that is no usable candidate.

    This is evidence about the line being searched, so the trial is told as failed.
    """


class NoMoves(_MayCost):
    """A proposer has nothing left to propose from this parent; the node is closed."""


class NotRecorded(_MayCost):
    """A replay was asked for a candidate that its recording does not hold.

    That says nothing of the candidate. A proposer that knows it before raises this itself: the
    trial then leaves no trace in the tree, and is counted.
    """
