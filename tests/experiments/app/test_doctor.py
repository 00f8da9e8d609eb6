"""What `doctor` says of GPUs: their ceilings beside the datasheet, and why there are none."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from experiments.app import doctor
from experiments.cli.commands import show
from experiments.runs.machines import ceilings as device
from mcts.domain import Hardware
from mcts.errors import InputError, WorldError
from profilers.children.processes import ChildGone
from profilers.children.protocol import RequestRefused
from profilers.hardware.ceilings import Rates, load_rates, store_rates
from profilers.hardware.datasheet import datasheet
from profilers.hardware.device import Gpu
from profilers.hardware.locks import GpuLock
from tests.support.commands import completed, json_of

RATES = Rates(
    copy_gb_per_s=4128, read_gb_per_s=4320, fp32_tflop_per_s=64, launch_us=2.6,
    l2_gb_per_s=6000, shared_gb_per_s=33_000,
)  # fmt: skip
TRIED = doctor.Check("trial profile", "ok", "all counters")
UUID, DRIVER = "GPU-test", "580.1"


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """Puts one GPU of a given name into this machine, with an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def put(name: str) -> None:
        found = Gpu(0, UUID, (9, 0), Hardware(name=name, driver=DRIVER))
        monkeypatch.setattr("profilers.hardware.device.find_gpu", lambda _ordinal: found)
        monkeypatch.setattr(show, "gpu_names", lambda: (name,))
        monkeypatch.setattr(show, "try_profile", lambda _say: TRIED)

    put("NVIDIA H200")
    return put


@pytest.fixture
def nobody_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(*_: object, **__: object) -> Rates:
        raise AssertionError("measured although the ceilings are known")

    monkeypatch.setattr(device, "_measure", measure)


@pytest.mark.usefixtures("gpu", "nobody_measures")
def test_known_ceilings_stand_beside_the_datasheet() -> None:
    store_rates(UUID, DRIVER, asdict(RATES))
    text = completed("doctor").stdout
    assert "NVIDIA H200, reaches (measured earlier)" in text
    assert "NVIDIA H200 Tensor Core GPU datasheet" in text
    rows = [line.split() for line in text.splitlines()]
    assert ["memory", "copy", "4,128", "GB/s", "4,800", "GB/s", "86%"] in rows
    assert ["bf16", "tensor,", "dense", "no", "probe", "990", "TFLOP/s"] in rows


@pytest.mark.usefixtures("gpu", "nobody_measures")
def test_json_has_the_ceilings() -> None:
    store_rates(UUID, DRIVER, asdict(RATES))
    (found,) = json_of("doctor")["ceilings"]
    assert (found["name"], found["measured_now"], found["problem"]) == ("NVIDIA H200", False, None)
    copy = found["rates"]["memory copy"]
    assert copy == {"unit": "GB/s", "measured": 4128, "datasheet": 4800, "ratio": 0.86}
    assert found["rates"]["L2 read"]["ratio"] is None
    assert found["rates"]["bf16 tensor, dense"]["measured"] is None


@pytest.mark.usefixtures("nobody_measures")
def test_an_unknown_board_has_no_datasheet(gpu: Callable[[str], None]) -> None:
    gpu("Paper GPU")
    store_rates(UUID, DRIVER, asdict(RATES))
    assert "none is known here" in completed("doctor").stdout
    (found,) = json_of("doctor")["ceilings"]
    assert found["datasheet"] is None
    assert all(rate["ratio"] is None for rate in found["rates"].values())


@pytest.mark.nvrtc
@pytest.mark.usefixtures("gpu")
def test_ceilings_are_measured_once_under_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    def measured(gpu: Gpu, support: Path, *, on_progress: Callable[[str], None], **_: Any) -> Rates:
        with pytest.raises(WorldError, match="in use"):
            GpuLock(UUID).acquire(wait_s=0)
        assert support.read_bytes().startswith(b"\x7fELF")
        on_progress("measuring the device's ceilings")
        return store_rates(gpu.uuid, gpu.hardware.driver, asdict(RATES))

    monkeypatch.setattr("profilers.measuring.rates.measured_rates", measured)
    first = completed("doctor", "--json")
    assert "GPU 0: measuring the device's ceilings" in first.stderr
    assert json.loads(first.stdout)["ceilings"][0]["measured_now"] is True
    lock = GpuLock(UUID)
    lock.acquire(wait_s=0)
    lock.release()
    assert load_rates(UUID, DRIVER) == RATES
    assert json_of("doctor")["ceilings"][0]["measured_now"] is False


@pytest.mark.usefixtures("gpu")
def test_a_busy_gpu_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "LOCK_WAIT_S", 0.0)
    holder = GpuLock(UUID)
    holder.acquire()
    try:
        report = json_of("doctor")
    finally:
        holder.release()
    check = next(check for check in report["checks"] if check["name"] == "GPU 0 ceilings")
    assert check["level"] == "note" and "in use by another Rooftree process" in check["detail"]
    assert report["ok"] and report["ceilings"][0]["rates"] == {}


@pytest.mark.parametrize(
    "failure",
    [
        WorldError("a GPU worker did not start"),
        InputError("there is no compiler"),
        RequestRefused("internal", "out of\nmemory"),
        ChildGone("no answer within 60 s", hung=True, output=""),
        OSError("no room"),
    ],
    ids=lambda failure: type(failure).__name__,
)
@pytest.mark.usefixtures("gpu")
def test_a_failed_measurement_is_a_note(
    monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    def measure(*_: object, **__: object) -> Rates:
        raise failure

    monkeypatch.setattr(device, "_measure", measure)
    text = completed("doctor").stdout
    assert f"not measured: {' '.join(str(failure).split())}" in text
    assert "reaches" not in text


def test_without_a_gpu_there_is_nothing_to_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(show, "gpu_names", lambda: ())
    assert json_of("doctor")["ceilings"] == []
    assert "reaches" not in completed("doctor").stdout


def test_every_measured_rate_is_shown() -> None:
    full = Rates(**{**asdict(RATES), "bf16_tflop_per_s": 800.0})
    rows = device.with_datasheet(full, datasheet("NVIDIA H200"))
    assert sorted(row.measured or 0 for row in rows) == sorted(asdict(full).values())
    assert sum(row.ratio is not None for row in rows) == 4


def torch_check() -> doctor.Check:
    return next(check for check in doctor.examine() if check.name == "PyTorch")


@pytest.mark.parametrize(
    ("line", "level", "words"),
    [
        ("cuda: Optional[str] = '13.0'", "ok", "from sources, built for CUDA 13.0"),
        ("cuda = '12.4'", "ok", "from sources, built for CUDA 12.4"),
        ("cuda: Optional[str] = None", "note", "built without CUDA"),
    ],
)
def test_pytorch_is_read_and_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, level: str, words: str
) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise AssertionError('imported')\n")
    (tmp_path / "torch" / "version.py").write_text(f"debug = False\n{line}\nhip = '6.1'\n")
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(doctor, "_version", lambda _name: None)
    found = torch_check()
    assert found.level == level and words in found.detail


def test_without_pytorch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_version", lambda _name: None)
    monkeypatch.setattr(doctor, "has_module", lambda _name: False)
    found = torch_check()
    assert (found.level, found.detail.split(": ")[1]) == ("note", "pip install 'rooftree[torch]'")


def test_what_load_inline_builds_with_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("profilers.compiling.toolchain.find_tool", lambda _name: None)
    checks = {check.name: check for check in doctor.examine()}
    for tool in ("nvcc", "c++"):
        assert checks[tool].level == "note" and "load_inline" in checks[tool].detail


def test_readers_of_reports_are_named() -> None:
    checks = {check["name"] for check in json_of("doctor")["checks"]}
    assert {"ncu_report", "QdstrmImporter", "CUPTI"} <= checks


def test_what_several_gpus_need_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "gpu_names", lambda: ("NVIDIA H200",) * 4)
    monkeypatch.setattr(doctor, "has_module", lambda _name: True)
    (ready,) = doctor._cluster()
    assert (ready.level, "would take 4" in ready.detail) == ("ok", True)
    monkeypatch.setattr(doctor, "has_module", lambda name: name != "cryptography")
    (lacking,) = doctor._cluster()
    assert lacking.level == "note"
    assert lacking.detail.startswith("cryptography not installed: pip install 'rooftree[cluster]'")
