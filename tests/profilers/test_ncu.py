"""Reading real ncu output: only what stands there, and never a zero that does not."""

from __future__ import annotations

import csv
import math
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcts.domain import metrics as m
from profilers import ncu, toolchain
from profilers.metrics import COLLECTED
from profilers.ncu import collect, parse_csv

DATA = Path(__file__).parents[1] / "data" / "ncu"
FULL = Path(__file__).parents[3] / "shared" / "data" / "ncu" / "ncu_full.csv"
KERNELS = ["saxpy", "saxpy_strided", "naive_mm"]


@pytest.fixture(scope="module")
def collected() -> str:
    return (DATA / "collected.csv").read_text()


def test_reads_every_collected_metric_of_a_real_run(collected: str) -> None:
    report = parse_csv(collected, expected=COLLECTED)
    assert [kernel.name for kernel in report.kernels] == KERNELS
    for kernel in report.kernels:
        assert set(COLLECTED) <= set(kernel.metrics)
    assert not set(COLLECTED) & set(report.missing)


def test_thousands_separators_and_units() -> None:
    report = parse_csv((DATA / "three_kernels.csv").read_text())
    strided = report.kernels[1]
    assert strided.metrics[m.DURATION].value == 4_163_520
    assert strided.metrics[m.DURATION].unit == "ns"
    assert strided.metrics[m.DRAM].unit == "%"
    assert strided.metrics[m.DRAM].value == 59.78


def test_text_and_nan_are_named_missing() -> None:
    report = parse_csv((DATA / "three_kernels.csv").read_text())
    assert "nan" in report.missing["derived_tempMetric4"]
    assert "PolicySpread" in report.missing["launch__cluster_scheduling_policy"]
    assert all("derived_tempMetric4" not in kernel.metrics for kernel in report.kernels)


def _table(cell: str, *, unit: str = "%") -> str:
    return (
        f'"ID","Kernel Name","{m.SM}","{m.L2}"\n"","","{unit}","%"\n"0","k(int)","{cell}","2.5"\n'
    )


@pytest.mark.parametrize("cell", ["n/a", "", "nan", "inf", "-inf", "1,23", "1.2.3", "12 (a; b)"])
def test_what_is_no_number_is_missing_and_not_zero(cell: str) -> None:
    report = parse_csv(_table(cell))
    assert m.SM not in report.kernels[0].metrics
    assert m.SM in report.missing
    assert report.kernels[0].metrics[m.L2].value == 2.5


def test_scaled_units_become_base_units() -> None:
    report = parse_csv(_table("1.5", unit="ms"))
    assert report.kernels[0].metrics[m.SM].value == 1.5e6
    assert report.kernels[0].metrics[m.SM].unit == "ns"


def test_an_expected_metric_without_a_column_is_missing() -> None:
    report = parse_csv(_table("1"), expected=[m.SM, m.DRAM])
    assert m.DRAM in report.missing
    assert m.SM not in report.missing


@pytest.mark.parametrize("text", ["", "==ERROR== nothing works\n", '"ID","Kernel', "no table"])
def test_no_table_is_a_named_gap(text: str) -> None:
    report = parse_csv(text)
    assert report.kernels == ()
    assert ncu.TOOL in report.missing


def test_every_truncation_keeps_only_true_values(collected: str) -> None:
    whole = {kernel.name: kernel.metrics for kernel in parse_csv(collected).kernels}
    for cut in range(len(collected) // 3, len(collected), 7):
        for kernel in parse_csv(collected[:cut]).kernels:
            for name, metric in kernel.metrics.items():
                assert metric.value == whole[kernel.name][name].value


@given(st.text(alphabet=st.sampled_from('"ID,KernelName0129.\n=%x\x00'), max_size=300))
def test_junk_never_raises_and_never_invents(text: str) -> None:
    report = parse_csv(text, expected=[m.SM])
    assert (m.SM if report.kernels else ncu.TOOL) in report.missing
    assert all(m.SM not in kernel.metrics for kernel in report.kernels)


@given(st.lists(st.text(max_size=12), min_size=1, max_size=4))
def test_arbitrary_cells_become_numbers_only_when_they_are(cells: list[str]) -> None:
    names = [f"metric_{i}" for i in range(len(cells))]
    lines = [["ID", "Kernel Name", *names], ["", "", *("" for _ in cells)], ["0", "k", *cells]]
    text = "\n".join(",".join(f'"{c.replace(chr(34), "")}"' for c in line) for line in lines)
    for kernel in parse_csv(text).kernels:
        for name, metric in kernel.metrics.items():
            written = cells[names.index(name)].replace('"', "").replace(",", "").strip()
            assert math.isfinite(metric.value)
            assert float(written) == metric.value


@pytest.mark.skipif(not FULL.is_file(), reason="the full 2,238-column report is not here")
def test_full_report() -> None:
    text = FULL.read_text()
    report = parse_csv(text)
    header = next(csv.reader([next(line for line in text.splitlines() if line[:5] == '"ID",')]))
    for kernel in report.kernels:
        assert len(kernel.metrics) > 2000
        assert len(kernel.metrics) + len(report.missing) >= len(header) - 11


def _fake_ncu(folder: Path, body: str) -> None:
    tool = folder / "ncu"
    tool.write_text("#!/bin/sh\n" + body)
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    toolchain.find_tool.cache_clear()
    yield tmp_path  # type: ignore[misc]
    toolchain.find_tool.cache_clear()


_LOG = 'while [ "$1" != --log-file ]; do shift; done; log="$2"\n'


def _collect(folder: Path, timeout_s: float = 10) -> ncu.NcuReport:
    env = {"PATH": os.environ["PATH"]}
    return collect(["true"], env=env, cwd=folder, timeout_s=timeout_s)


def test_collect_returns_only_what_was_asked(tools: Path) -> None:
    _fake_ncu(tools, f'{_LOG}cp "{DATA / "collected.csv"}" "$log"\n')
    report = _collect(tools)
    assert [kernel.name for kernel in report.kernels] == KERNELS
    assert set(report.kernels[0].metrics) == set(COLLECTED)
    assert report.missing == {}


def test_refused_counters_are_a_reason_not_an_error(tools: Path) -> None:
    words = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission"
    _fake_ncu(tools, f'{_LOG}echo "{words}" > "$log"\nexit 1\n')
    report = _collect(tools)
    assert report.kernels == ()
    assert "ERR_NVGPUCTRPERM" in report.missing[ncu.TOOL]


def test_a_crash_is_a_reason(tools: Path) -> None:
    _fake_ncu(tools, "echo the driver fell over; exit 9\n")
    assert "the driver fell over" in _collect(tools).missing[ncu.TOOL]


def test_a_timeout_kills_the_whole_group(tools: Path) -> None:
    _fake_ncu(tools, f"sleep 60 & echo $! > {tools}/child; wait\n")
    report = _collect(tools, timeout_s=0.5)
    assert "stopped after 0.5 s" in report.missing[ncu.TOOL]
    child = int((tools / "child").read_text())
    state = Path(f"/proc/{child}/stat")
    assert not state.exists() or state.read_text().split()[2] == "Z"


def test_absent_ncu_is_a_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(ncu, "find_tool", lambda name: None)
    assert "not found" in _collect(tmp_path).missing[ncu.TOOL]
