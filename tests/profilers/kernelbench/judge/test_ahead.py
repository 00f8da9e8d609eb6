"""Draws that the reference makes ahead of a verification."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any, cast

import pytest

from mcts.errors import WorldError
from profilers.children.protocol import RequestRefused
from profilers.kernelbench.judge.ahead import DrawsAhead
from profilers.kernelbench.judge.problem import Layout, OpenProblem
from profilers.kernelbench.judge.rounds import VerificationRound, rounds_of

LAYOUT = Layout(weights=1000, inputs=500, outputs=100, calls=2, in_turns=False)
ROUNDS = rounds_of(mutable_weights=True, hidden_shapes=False, variations=("scaled",))


class Reference:
    """A reference's process that notes what it is asked, and can be made to fail or wait."""

    def __init__(self, **fails: Exception) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.fails, self.alive, self.gate = fails, True, threading.Event()
        self.gate.set()
        self.size = 500

    def ask(self, op: str, **fields: Any) -> dict[str, Any]:
        self.gate.wait(5.0)
        self.asked.append((op, fields))
        if op in self.fails:
            raise self.fails[op]
        if op == "draw":
            return {"available": True, "inputs": None, "bytes": self.size}
        return {"centred": False}

    def hang_up(self) -> None:
        self.fails["draw"] = WorldError("gone")
        self.gate.set()

    def of(self, op: str) -> list[dict[str, Any]]:
        return [fields for asked, fields in self.asked if asked == op]


def ahead_of(reference: Reference, room: int = 10) -> tuple[DrawsAhead, Any]:
    problem = SimpleNamespace(running=reference, draws_ahead=room, layout=LAYOUT, is_roomy=True)
    return DrawsAhead(cast(OpenProblem, problem), lambda: ROUNDS), problem


def made(ahead: DrawsAhead) -> DrawsAhead:
    """All that is missing, made to the end."""
    ahead.begin()
    assert ahead._thread is not None
    ahead._thread.join(5.0)
    ahead.stop()
    return ahead


def taken(ahead: DrawsAhead, reference: Reference, item: VerificationRound) -> str | None:
    found = ahead.take(cast(Any, reference), item)
    return found.name if found else None


def test_each_round_that_changes_no_weights_gets_a_draw_of_its_own_once() -> None:
    reference = Reference()
    ahead = made(ahead_of(reference)[0])
    assert [fields["variation"] for fields in reference.of("draw")] == ["given", "given", "scaled"]
    names = [taken(ahead, reference, item) for item in ROUNDS]
    assert names[:3] == [fields["id"] for fields in reference.of("expect")]
    assert len({*names[:3]}) == 3 and len({fields["seed"] for fields in reference.of("draw")}) == 3
    assert names[3:] == [None, None]
    assert taken(ahead, reference, ROUNDS[0]) is None


def test_only_what_was_used_is_made_again() -> None:
    reference = Reference()
    ahead = made(ahead_of(reference)[0])
    taken(ahead, reference, ROUNDS[2])
    made(ahead)
    assert [fields["variation"] for fields in reference.of("draw")][3:] == ["scaled"]


@pytest.mark.parametrize(("room", "drawn"), [(0, 0), (2, 2)])
def test_no_more_is_made_than_memory_holds(room: int, drawn: int) -> None:
    reference = Reference()
    ahead = ahead_of(reference, room)[0]
    ahead.begin()
    if ahead._thread is not None:
        ahead._thread.join(5.0)
    assert len(reference.of("draw")) == drawn


def test_inputs_that_the_shared_memory_does_not_hold_are_left_to_the_round() -> None:
    reference = Reference()
    reference.size = 1001
    ahead = made(ahead_of(reference)[0])
    assert taken(ahead, reference, ROUNDS[0]) is None
    assert [fields["id"] for fields in reference.of("draw")] == [
        name for fields in reference.of("forget") for name in fields["ids"]
    ]


def test_where_memory_is_refused_nothing_stays() -> None:
    reference = Reference(expect=RequestRefused("memory", "full"))
    ahead = made(ahead_of(reference)[0])
    assert [op for op, _ in reference.asked] == ["draw", "expect", "forget"]
    assert taken(ahead, reference, ROUNDS[0]) is None


def test_a_reference_that_was_started_anew_has_none_of_them() -> None:
    first, second = Reference(), Reference()
    ahead, problem = ahead_of(first)
    made(ahead)
    assert taken(ahead, second, ROUNDS[0]) is None
    problem.running = second
    made(ahead)
    assert taken(ahead, second, ROUNDS[0]) in [fields["id"] for fields in second.of("draw")]


def test_weights_that_change_take_all_of_them() -> None:
    reference = Reference()
    ahead = made(ahead_of(reference)[0])
    names = {fields["id"] for fields in reference.of("draw")}
    ahead.drop()
    assert set(reference.of("forget")[0]["ids"]) == names
    assert taken(ahead, reference, ROUNDS[0]) is None
    ahead.drop()
    assert len(reference.of("forget")) == 1


def test_it_stops_after_what_is_being_asked() -> None:
    reference = Reference()
    reference.gate.clear()
    ahead = ahead_of(reference)[0]
    ahead.begin()
    ahead._stopping.set()
    reference.gate.set()
    ahead.stop()
    assert len(reference.of("draw")) <= 1


def test_it_ends_though_the_reference_does_not_answer() -> None:
    reference = Reference()
    reference.gate.clear()
    ahead = ahead_of(reference)[0]
    ahead.begin()
    ahead.end()
    assert ahead._thread is None
