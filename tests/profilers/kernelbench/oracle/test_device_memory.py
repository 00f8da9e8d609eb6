"""What the oracle takes of a device's memory, by what PyTorch says of it."""

from __future__ import annotations

from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from profilers.kernelbench.oracle.memory import DeviceMemory  # noqa: E402

GIB = 2**30


@pytest.fixture
def given_back(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """10 GiB free, 4 GiB taken, 3.5 of them idle. Filled where PyTorch gives these back."""
    calls: list[bool] = []
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (10 * GIB, 80 * GIB))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda: 4 * GIB)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda: GIB // 2)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: calls.append(True))
    return calls


@pytest.mark.usefixtures("given_back")
def test_free_and_idle_memory_may_be_taken_but_for_a_reserve() -> None:
    room = DeviceMemory(0).room()
    assert room is not None and 11 * GIB < room < 13.5 * GIB
    assert DeviceMemory(0).reserved() == 4 * GIB


def test_much_idle_memory_is_given_back(
    given_back: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    DeviceMemory(0).trim()
    assert given_back == [True]
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda: int(3.5 * GIB))
    DeviceMemory(0).trim()
    assert given_back == [True]


def test_idle_memory_is_kept_while_the_device_has_much(
    given_back: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (30 * GIB, 80 * GIB))
    memory = DeviceMemory(0)
    memory.trim()
    assert given_back == []
    memory.in_turns = True
    memory.trim()
    assert given_back == [True]


def test_idle_memory_is_given_back_where_calls_of_the_model_take_much(
    given_back: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (30 * GIB, 80 * GIB))
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", lambda: None)
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: 18 * GIB)
    memory = DeviceMemory(0)
    with memory.measured():
        pass
    memory.trim()
    assert given_back == [True]


def test_the_hosts_memory_is_unknown(given_back: list[bool]) -> None:
    memory = DeviceMemory("cpu")
    memory.trim()
    assert (memory.room(), memory.reserved(), given_back) == (None, None, [])
