"""What a worker does: it keeps one evaluator, and has it answer orders."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from experiments.cluster.orders import Order, Problem, Report
from mcts.domain import KernelTask, first_problem
from mcts.errors import RooftreeError, WorldError
from mcts.options import JudgingOptions
from mcts.ports import Evaluator
from mcts.text import one_line

_MOST_SAID = 300


class UnfitMachine(WorldError):
    """This machine cannot judge the task, whoever asks; another may."""


EvaluatorFactory = Callable[[KernelTask, JudgingOptions, int], Evaluator]
"""Builds this machine's evaluator of a task, with a seed for the draws of a replay. It raises
InputError for a fault of the task, UnfitMachine where it is this machine that cannot, WorldError
where something broke. Workers find it by its name: it must be importable there."""


class Bench:
    """The evaluator of the last order, kept for as long as orders want the same. Thread-safe.

    Orders of one task are answered side by side: an evaluator compiles several candidates at once
    and lets one at a time on its device. An order of another task waits for them.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._setup: object = None
        self._evaluator: Evaluator | None = None
        self._users = 0

    def answer(self, order: Order, factory: EvaluatorFactory) -> dict[str, Any]:
        """The parts of a report. Raises what the factory and the evaluator raise."""
        evaluator = self._taken(order, factory)
        is_broken = False
        try:
            return _asked(order, evaluator)
        except WorldError:
            is_broken = True
            raise
        finally:
            self._given_back(evaluator, is_broken=is_broken)

    def clear(self) -> None:
        """Close the evaluator; idempotent."""
        with self._changed:
            self._clear()

    def _taken(self, order: Order, factory: EvaluatorFactory) -> Evaluator:
        setup = (order.task.id, order.judging, order.seed)
        with self._changed:
            self._changed.wait_for(lambda: self._users == 0 or self._setup == setup)
            if self._evaluator is None or self._setup != setup:
                self._clear()
                self._evaluator = factory(order.task, order.judging, order.seed)
                self._setup = setup
            self._users += 1
            return self._evaluator

    def _given_back(self, evaluator: Evaluator, *, is_broken: bool) -> None:
        with self._changed:
            self._users -= 1
            if is_broken and self._evaluator is evaluator:
                self._setup = None  # whoever comes next waits for the others and begins anew
            self._changed.notify_all()

    def _clear(self) -> None:
        evaluator, self._evaluator = self._evaluator, None
        if evaluator is not None:
            evaluator.close()


_BENCH = Bench()
atexit.register(_BENCH.clear)


def work(text: str, factory: EvaluatorFactory) -> str:
    """Answer an order, on a worker: JSON in, JSON out. No error leaves as an exception, which would
    look as if the scheduler had gone.
    """
    try:
        order = Order.model_validate_json(text)
        report = Report(worker=_address(), **_BENCH.answer(order, factory))
    except UnfitMachine as error:
        report = Report(worker=_address(), problem=Problem(kind="unfit", message=str(error)))
    except RooftreeError as error:
        report = Report(worker=_address(), problem=Problem.of(error))
    except ValidationError as error:
        said = (
            f"it cannot read the order, is its Rooftree of another version? {first_problem(error)}"
        )
        report = Report(worker=_address(), problem=Problem(kind="WorldError", message=said))
    except Exception as error:  # noqa: BLE001 - an evaluator may be anybody's
        said = one_line(f"{type(error).__name__}: {error}", _MOST_SAID)
        report = Report(worker=_address(), problem=Problem(kind="WorldError", message=said))
    return report.model_dump_json()


def _asked(order: Order, evaluator: Evaluator) -> dict[str, Any]:
    candidate, seen = order.candidate, order.evaluation
    found: dict[str, Any] = {
        "hardware": evaluator.hardware,
        "can_confirm": evaluator.can_confirm,
        "measures_energy": evaluator.measures_energy,
    }
    if order.candidates:
        return found | {"profiles": evaluator.profile_many(order.candidates)}
    if candidate is None:
        return found
    if seen is None:
        return found | {"evaluation": evaluator.evaluate(candidate)}
    if order.kind == "profile":
        return found | {"profile": evaluator.profile(candidate, seen)}
    if order.kind == "confirm":
        return found | {"evaluation": evaluator.confirm(candidate, seen)}
    return found | {"evaluation": evaluator.measure_energy(candidate, seen)}


def _address() -> str:
    from distributed import get_worker

    return str(get_worker().address)
