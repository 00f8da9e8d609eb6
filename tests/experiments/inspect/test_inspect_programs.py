"""Programs of the user's: they run without keys, end in time, and fail in one clear line."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from experiments.inspect.kernel_profiles import distinct_kernels
from experiments.inspect.machine_code import code_of
from experiments.inspect.programs import Run, measure
from mcts.domain import Hardware, KernelProfile, Metric, SassFacts
from mcts.domain import metrics as m
from mcts.errors import InputError
from profilers import ncu
from profilers.children.processes import child_environment
from profilers.timeline import nsys
from profilers.timeline.activities import TimelineReport

DATA = Path(__file__).parents[2] / "data"


def script(tmp_path: Path, body: str) -> Path:
    path = tmp_path / "program"
    path.write_text(f"#!{sys.executable}\n{body}\n")
    path.chmod(0o755)
    return path


def run(path: Path, *args: str, timeout_s: float = 20.0) -> Run:
    return Run((str(path), *args), child_environment(), path.parent, timeout_s)


def test_a_program_that_works_says_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run(script(tmp_path, "import sys; print('hello', sys.argv[1])"), "x").unprofiled()
    assert capfd.readouterr() == ("", "")


def test_a_program_that_hangs_is_ended_with_all_it_started(tmp_path: Path) -> None:
    body = "import os, time\nif os.fork() == 0: os.setsid()\ntime.sleep(600)"
    begin = time.monotonic()
    with pytest.raises(InputError, match=r"program was stopped after 1 s.*--timeout-s"):
        run(script(tmp_path, body), timeout_s=1.0).unprofiled()
    assert time.monotonic() - begin < 15


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("import os; os.kill(os.getpid(), 11)", "program was killed by SIGSEGV"),
        ("raise SystemExit(3)", "program ended with status 3"),
        ("import sys; print('first\\nCUDA error: invalid argument'); sys.exit(1)",
         "program ended with status 1: CUDA error: invalid argument"),
    ],
)  # fmt: skip
def test_a_program_that_fails_is_one_line(tmp_path: Path, body: str, said: str) -> None:
    with pytest.raises(InputError) as failed:
        run(script(tmp_path, body)).unprofiled()
    assert str(failed.value) == said


def test_a_program_sees_no_keys_and_its_last_words_move_no_cursor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    said = "'\\x1b[2J', os.environ.get('OPENAI_API_KEY'), 'x' * 5000"
    body = f"import os, sys; print({said}); sys.exit(1)"
    with pytest.raises(InputError) as failed:
        run(script(tmp_path, body)).unprofiled()
    text = str(failed.value)
    assert "sk-very-secret" not in text
    assert "None" in text
    assert text.isprintable()
    assert len(text) < 400


def test_a_flood_of_output_costs_no_memory_and_no_time(tmp_path: Path) -> None:
    body = "import os\nfor _ in range(2000): os.write(1, b'x' * 65536)"
    run(script(tmp_path, body)).unprofiled()


def test_a_program_that_cannot_be_started_is_refused(tmp_path: Path) -> None:
    path = script(tmp_path, "")
    path.chmod(0o644)
    with pytest.raises(InputError, match="program could not be started"):
        run(path).unprofiled()


class NoGpu:
    """Stands in for the inspector: a device's name and ceilings, no device."""

    hardware = Hardware(name="Paper GPU", compute_capability="9.0")

    def __init__(self, **_: object) -> None:
        pass

    def __enter__(self) -> NoGpu:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Profilers that answer with what the real ones once said; returns what ncu is asked."""
    asked: list[dict[str, Any]] = []
    counters = {
        kernel.name: kernel for kernel in ncu.read_report(DATA / "ncu/three_kernels.csv").kernels
    }

    def collect(command: Sequence[str], **options: Any) -> ncu.NcuReport:
        asked.append({"command": command, **options})
        (name,) = options["kernels"]
        return ncu.NcuReport((counters[name],), {ncu.LAUNCHES: "stopped after 1"})

    timeline = nsys.read_report(DATA / "nsys/three_kernels.sqlite")
    monkeypatch.setattr("profilers.profiles.inspecting.Inspector", NoGpu)
    monkeypatch.setattr("profilers.timeline.nsys.profile_program", lambda *_, **__: timeline)
    monkeypatch.setattr("profilers.ncu.collect", collect)
    return asked


def test_a_run_is_timed_then_its_longest_kernels_are_counted(
    tmp_path: Path, recorded: list[dict[str, Any]]
) -> None:
    said: list[str] = []
    program = script(tmp_path, "")
    seen = measure(program, ("7",), device=0, timeout_s=20, on_progress=said.append)
    names = [kernel.name for kernel in seen.profile.kernels]
    assert names == ["saxpy_strided", "naive_mm", "saxpy"]
    assert [one["kernels"] for one in recorded] == [[name] for name in names]
    assert all(one["command"] == (str(program), "7") for one in recorded)
    assert all(not one["bracketed"] and one["launches"] == 1 for one in recorded)
    assert all(kernel.value(m.SM) is not None for kernel in seen.profile.kernels)
    assert seen.profile.timeline is not None
    assert seen.profile.hardware == NoGpu.hardware
    assert "no device code" in seen.profile.missing["sass"]
    assert ncu.LAUNCHES not in seen.profile.missing
    assert said[0] == "running program"


def test_without_counters_the_timeline_still_tells_the_times(
    tmp_path: Path, recorded: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = ncu.NcuReport((), {ncu.TOOL: "refused"})
    monkeypatch.setattr("profilers.ncu.collect", lambda *_, **__: refused)
    seen = measure(script(tmp_path, ""), (), device=0, timeout_s=20, on_progress=print)
    assert seen.profile.missing[ncu.TOOL] == "refused"
    assert [set(kernel.metrics) for kernel in seen.profile.kernels] == [{m.DURATION}] * 3


def test_without_a_timeline_the_first_launches_are_counted(
    tmp_path: Path, recorded: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = TimelineReport(missing={nsys.TOOL: "not found"})
    seen_by_ncu = ncu.read_report(DATA / "ncu/three_kernels.csv")
    monkeypatch.setattr("profilers.timeline.nsys.profile_program", lambda *_, **__: absent)
    monkeypatch.setattr("profilers.ncu.collect", lambda *_, **__: seen_by_ncu)
    seen = measure(script(tmp_path, ""), (), device=0, timeout_s=20, on_progress=print)
    assert seen.profile.timeline is None
    assert seen.profile.missing[nsys.TOOL] == "not found"
    names = [kernel.name for kernel in seen.profile.kernels]
    assert names == ["saxpy_strided", "naive_mm", "saxpy"]


def test_launches_of_one_shape_are_one_kernel_with_its_middle_run() -> None:
    def launch(name: str, grid: float, duration: float) -> ncu.NcuKernel:
        values = {m.GRID: grid, m.BLOCK: 256.0, m.DURATION: duration}
        return ncu.NcuKernel(name, {key: Metric(value=value) for key, value in values.items()})

    launches = [launch("a", 1, 30), launch("a", 1, 10), launch("a", 1, 20), launch("a", 9, 50)]
    kernels = distinct_kernels([*launches, launch("b", 1, 100)])
    found = [(one.name, one.launches, one.value(m.DURATION)) for one in kernels]
    assert found == [("b", 1, 100), ("a", 3, 20), ("a", 1, 50)]


def test_a_program_that_uses_no_device_is_one_line(
    tmp_path: Path, recorded: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "profilers.timeline.nsys.profile_program", lambda *_, **__: TimelineReport()
    )
    with pytest.raises(InputError, match="program launched nothing on the device"):
        measure(script(tmp_path, ""), (), device=0, timeout_s=20, on_progress=print)


@pytest.mark.parametrize(
    ("shown", "device", "seen"),
    [(None, 0, None), (None, 1, "1"), ("4,GPU-7", 0, "4,GPU-7"), ("4,GPU-7", 1, "GPU-7")],
)
def test_a_device_other_than_the_first_is_the_only_one_a_program_sees(
    tmp_path: Path,
    recorded: list[dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    shown: str | None,
    device: int,
    seen: str | None,
) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if shown is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", shown)
    measure(script(tmp_path, ""), (), device=device, timeout_s=20, on_progress=print)
    assert recorded[0]["env"].get("CUDA_VISIBLE_DEVICES") == seen


def test_machine_code_is_found_by_bare_name_then_by_registers() -> None:
    wide, narrow = SassFacts(instructions=9, registers=40), SassFacts(instructions=5, registers=20)
    code = {"_Z4copyIfEvPT_": narrow, "_Z4copyIdEvPT_": wide, "_Z5scalePf": narrow}
    used = {m.REGISTERS: Metric(value=40)}
    assert code_of(KernelProfile(name="scale"), code) is narrow
    assert code_of(KernelProfile(name="copy", metrics=used), code) is wide
    assert code_of(KernelProfile(name="copy"), code) is None
    assert code_of(KernelProfile(name="other"), code) is None
