"""CUPTI's records in our words; where CUPTI cannot be used, a reason."""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from profilers.timeline import Activity, ApiCall, cupti
from profilers.timeline import target as timeline_target
from profilers.timeline.cupti import CuptiUnavailable, Recorder, Records

Kind = IntEnum(
    "Kind", {"MEMCPY": 1, "MEMSET": 2, "KERNEL": 3, "DRIVER": 4, "RUNTIME": 5, "NAME": 11,
             "CONCURRENT_KERNEL": 10}
)  # fmt: skip
Domain = IntEnum("Domain", {"DRIVER_API": 1, "RUNTIME_API": 2})
Memory = IntEnum("Memory", {"UNKNOWN": 0, "PAGEABLE": 1, "PINNED": 2, "DEVICE": 3})
Direction = IntEnum("Direction", {"UNKNOWN": 0, "HTOD": 1, "DTOH": 2, "DTOD": 8})
USED = {
    "ActivityKernel": ("kind", "start", "end", "stream_id", "correlation_id", "name"),
    "ActivityMemcpy": ("kind", "start", "end", "stream_id", "correlation_id", "bytes", "copy_kind",
                       "src_kind", "dst_kind"),
    "ActivityMemset": ("kind", "start", "end", "stream_id", "correlation_id", "bytes"),
    "ActivityAPI": ("kind", "start", "end", "thread_id", "correlation_id", "cbid"),
}  # fmt: skip


class Binding:
    """What of NVIDIA's binding is used, with a device that does one launch per flush."""

    ActivityKind, CallbackDomain = Kind, Domain
    ActivityMemoryKind, ActivityMemcpyKind = Memory, Direction

    class cuptiError(Exception):
        pass

    def __init__(self, refuses: str = "") -> None:
        self.refuses = refuses
        self.enabled: set[int] = set()
        self.launched = 0
        self.looked_up: list[tuple[int, int]] = []

    def _maybe(self, name: str) -> None:
        if name == self.refuses:
            raise self.cuptiError("ERROR_INSUFFICIENT_PRIVILEGES (35)")

    def activity_register_callbacks(
        self, request: Callable[[], tuple[int, int]], complete: Callable[[list[Any]], None]
    ) -> None:
        self._maybe("activity_register_callbacks")
        assert request()[0] >= 2**20
        self._complete = complete

    def activity_enable(self, kind: int) -> None:
        self._maybe("activity_enable")
        self.enabled.add(int(kind))

    def activity_disable(self, kind: int) -> None:
        self.enabled.discard(int(kind))

    def activity_flush_all(self, flag: int) -> None:
        assert flag == 1
        if self.enabled:
            self.launched += 1
            self._complete([launched(self.launched), running(self.launched)])

    def get_callback_name(self, domain: int, cbid: int) -> str:
        self.looked_up.append((domain, cbid))
        return {(1, 307): "cuLaunchKernel", (2, 211): "cudaLaunchKernel_v7000"}[domain, cbid]


def launched(n: int, *, kind: int = Kind.DRIVER, cbid: int = 307) -> Any:
    return SimpleNamespace(kind=kind, cbid=cbid, start=100 * n, end=100 * n + 5, thread_id=9,
                           correlation_id=n)  # fmt: skip


def running(n: int, *, name: str = "_Z5scalePf", end: int | None = None) -> Any:
    return SimpleNamespace(
        kind=Kind.CONCURRENT_KERNEL, start=100 * n + 10, end=100 * n + 50 if end is None else end,
        stream_id=13, correlation_id=n, name=name,
    )  # fmt: skip


@pytest.fixture
def binding(monkeypatch: pytest.MonkeyPatch) -> Binding:
    return put(Binding(), monkeypatch)


def put(binding: Binding, monkeypatch: pytest.MonkeyPatch) -> Binding:
    monkeypatch.setitem(sys.modules, "cupti", SimpleNamespace(cupti=binding))
    monkeypatch.setitem(sys.modules, "cupti.cupti", binding)
    return binding


def test_records_become_activities_and_calls() -> None:
    records = Records(Binding())
    pinned = {"bytes": 10, "src_kind": 2, "dst_kind": 3, "copy_kind": 1}
    pageable = {"bytes": 20, "src_kind": 3, "dst_kind": 1, "copy_kind": 2}
    common = {"start": 5, "end": 9, "stream_id": 7, "correlation_id": 4}
    records.receive(
        [
            running(1),
            SimpleNamespace(kind=Kind.MEMCPY, **common, **pinned),
            SimpleNamespace(kind=Kind.MEMCPY, **common, **pageable),
            SimpleNamespace(kind=Kind.MEMSET, **common, bytes=64),
            SimpleNamespace(kind=Kind.NAME),
            launched(1),
            launched(2, kind=Kind.RUNTIME, cbid=211),
        ]
    )
    report = records.take()
    assert report.activities == (
        Activity("kernel", "scale", 110, 150, 13, 1),
        Activity("copy", "", 5, 9, 7, 4, 10, "HTOD", False),
        Activity("copy", "", 5, 9, 7, 4, 20, "DTOH", True),
        Activity("memset", "", 5, 9, 7, 4, 64),
    )
    assert report.api_calls == (
        ApiCall("cuLaunchKernel", 100, 105, 1, 9),
        ApiCall("cudaLaunchKernel_v7000", 200, 205, 2, 9),
    )
    assert report.missing == {}
    assert records.take().activities == ()


def test_a_record_that_had_not_ended_is_named_and_left_out() -> None:
    records = Records(Binding())
    records.receive([running(1, end=0), running(2)])
    report = records.take()
    assert len(report.activities) == 1
    assert "1 records" in report.missing["some operations"]


def test_names_of_calls_are_looked_up_once() -> None:
    binding = Binding()
    records = Records(binding)
    records.receive([launched(n) for n in range(1, 50)])
    assert {call.name for call in records.take().api_calls} == {"cuLaunchKernel"}
    assert binding.looked_up == [(1, 307)]


def test_a_recorder_tells_what_came_after_the_last_discard(binding: Binding) -> None:
    recorder = Recorder()
    recorder.start()
    assert binding.enabled == {1, 2, 4, 5, 10}
    recorder.discard()
    report = recorder.take()
    assert [item.correlation for item in report.activities] == [2]
    assert [call.correlation for call in report.api_calls] == [2]
    recorder.stop()
    assert not binding.enabled


def test_without_the_package_the_reason_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "cupti", None)
    monkeypatch.delitem(sys.modules, "cupti.cupti", raising=False)
    with pytest.raises(CuptiUnavailable, match="install cupti-python"):
        Recorder()


@pytest.mark.parametrize("call", ["activity_register_callbacks", "activity_enable"])
def test_a_refusal_of_cupti_is_a_reason(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    put(Binding(refuses=call), monkeypatch)
    with pytest.raises(CuptiUnavailable, match=rf"refused {call}: ERROR_INSUFFICIENT_PRIVILEGES"):
        Recorder().start()


def test_the_target_ends_with_the_reason_if_cupti_is_absent(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(Binding(refuses="activity_register_callbacks"), monkeypatch)
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps({}))
    assert timeline_target.main([str(spec), "cupti"]) == cupti.NO_CUPTI
    assert "ERROR_INSUFFICIENT_PRIVILEGES" in capsys.readouterr().out


def test_the_binding_has_everything_we_use() -> None:
    """Against NVIDIA's package itself, where it is installed; it needs no GPU to be imported."""
    pytest.importorskip("cupti")
    real = importlib.import_module("cupti.cupti")
    for stem, fields in USED.items():
        classes = [name for name in dir(real) if re.fullmatch(rf"{stem}\d*", name)]
        assert classes
        for name in classes:
            assert all(hasattr(getattr(real, name), field) for field in fields), name
    for function in ("activity_register_callbacks", "activity_enable", "activity_disable",
                     "activity_flush_all", "get_callback_name", "cuptiError"):  # fmt: skip
        assert callable(getattr(real, function))
    assert {"HTOD", "DTOH", "DTOD"} <= {item.name for item in real.ActivityMemcpyKind}
    Records(real)
