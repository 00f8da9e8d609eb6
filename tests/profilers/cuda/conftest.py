"""The emulated judge with its worker, for the task that a test module gives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mcts.domain import KernelTask
from tests.profilers import emulated
from tests.profilers.place import Place


@pytest.fixture
def place(gpu: emulated.Driver, task: KernelTask, tmp_path: Path) -> Iterator[Place]:
    place = Place(task, tmp_path)
    yield place
    place.store.close()
