"""A worker runs in a jail, and never without one after it has seen a candidate."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mcts.domain import Isolation
from mcts.errors import WorldError
from profilers.children.processes import ChildGone
from profilers.launching import gpu_worker as module
from profilers.launching.gpu_worker import GpuWorker
from profilers.sandbox import Jail

HELD = Isolation(level="full", parts=("user", "pid"))
FREE = Isolation(level="process")


class Worker:
    """A child that starts unless `refuse` says that no jailed one does."""

    refuse = False
    jails: list[Jail | None] = []

    def __init__(self, jail: Jail | None) -> None:
        self.alive = True
        self._jail = jail
        Worker.jails.append(jail)
        self.isolation = HELD if jail else FREE

    @classmethod
    def module(cls, _name: str, *, jail: Jail | None = None, **_: Any) -> Worker:
        return cls(jail)

    def ask(self, _message: Mapping[str, Any], *, timeout_s: float) -> dict[str, Any]:
        assert timeout_s > 0
        if self._jail is not None and Worker.refuse:
            raise ChildGone("cuInit failed", hung=False, output="error 304")
        return {"ok": True}

    def kill(self) -> None:
        self.alive = False


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> GpuWorker:
    monkeypatch.setattr(module, "Child", Worker)
    monkeypatch.setattr(Worker, "refuse", False)
    Worker.jails.clear()
    return GpuWorker(
        device=0, support=tmp_path / "s", setup=lambda _: None, readable=(tmp_path / "cases",)
    )


def test_a_worker_is_held_and_sees_what_it_must_read(made: GpuWorker, tmp_path: Path) -> None:
    made.ready()
    (jail,) = Worker.jails
    assert jail is not None and jail.gpu and tmp_path / "cases" in jail.readable
    assert made.isolation == HELD and made.note is None
    made.close()


def test_a_worker_starts_outside_of_a_jail_that_the_driver_refuses(
    made: GpuWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Worker, "refuse", True)
    made.ready()
    assert made.isolation == FREE
    assert made.note is not None and "cuInit failed" in made.note
    made.close()


def test_a_jail_is_never_left_once_a_candidate_may_have_run(
    made: GpuWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.ready()
    made.replace()
    monkeypatch.setattr(Worker, "refuse", True)
    with pytest.raises(WorldError, match="did not start: cuInit failed error 304"):
        made.ready()
    assert all(jail is not None for jail in Worker.jails) and made.note is None
    made.close()
