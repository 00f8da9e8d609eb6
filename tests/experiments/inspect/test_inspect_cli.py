"""`rooftree inspect` as a user meets it on a machine without a GPU."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from experiments.benchmarks.clinic.cases import FOLDER
from mcts.domain import Ceilings, Hardware, KernelProfile, Profile, Work
from mcts.domain import metrics as m
from profilers import ncu
from profilers.compiling.toolchain import find_tool
from profilers.profiles.inspecting import Inspected
from profilers.recordings.profile_recording import ProfileRecording
from tests.support.commands import completed, json_of, rooftree

DATA = Path(__file__).parents[2] / "data"
SHARED = Path(__file__).parents[4] / "shared" / "data"
NO_GPU = "no GPU in this test"
KEYS = {
    "file", "hardware", "replayed", "time_us", "class", "level", "confidence", "gaps", "budget",
    "near_peak", "beaten_by", "findings", "what_if", "kernels", "modules", "timeline", "missing",
}  # fmt: skip
reads_code = pytest.mark.skipif(
    any(find_tool(name) is None for name in ("nvdisasm", "cuobjdump")),
    reason="needs nvdisasm and cuobjdump",
)
has_nvcc = pytest.mark.skipif(find_tool("nvcc") is None, reason="nvcc is not installed")


FLOATS = "sum += x[(size_t)row * cols + c];"
BYTES = "sum += ((const unsigned char*)x)[(size_t)row * cols + c];"


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.inspect.inspecting.gpu_problem", lambda _device: NO_GPU)


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    """A copy of the row sum, to write recordings beside."""
    return Path(shutil.copy(DATA / "inspect/row_sum.cu", tmp_path))


def answer(*words: object) -> dict[str, Any]:
    """The one JSON object that is printed."""
    found = json_of("inspect", *words)
    assert set(found) == KEYS
    return found


def refused(done: Result, *parts: str) -> None:
    assert done.exit_code == 2, done.output
    lines = [line for line in done.stderr.splitlines() if not line.startswith(PROGRESS)]
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("error: ")
    for part in parts:
        assert part in lines[0]


PROGRESS = ("compiling ", "building ", "running ")


@pytest.mark.nvrtc
def test_a_kernel_without_a_gpu_is_read_as_machine_code(kernel: Path) -> None:
    found = answer(kernel)
    assert (found["replayed"], found["class"], found["hardware"]) == (False, "unknown", None)
    (one,) = found["kernels"]
    assert one["name"] == "row_sum"
    assert one["sass"]["registers"] > 0
    assert one["sass"]["global_loads"]["32"] > 0
    assert NO_GPU in found["missing"]["ncu"]
    assert NO_GPU in found["missing"]["timeline"]


@pytest.mark.nvrtc
def test_advice_from_machine_code_names_lines_of_the_source(kernel: Path) -> None:
    kernel.write_text(kernel.read_text().replace(FLOATS, BYTES))
    done = completed("inspect", kernel)
    assert "read as machine code, not run" in done.stdout
    assert "narrow_access" in done.stdout and BYTES in done.stdout
    assert "not seen" in done.stdout


@pytest.mark.nvrtc
def test_without_a_plan_every_kernel_is_read_and_a_plan_is_asked_for() -> None:
    found = answer(DATA / "inspect/no_plan.cu", "--set", "FACTOR=2.5f")
    assert [one["name"] for one in found["kernels"]] == ["scale", "widen"]
    assert found["kernels"][1]["sass"]["double_ops"] > 0
    assert "launch plan" in found["missing"]["ncu"]


@pytest.mark.nvrtc
def test_a_plan_may_lie_in_a_file_of_its_own(kernel: Path, tmp_path: Path) -> None:
    text = kernel.read_text()
    plan, code = text.split("*/", 1)
    (tmp_path / "plan.toml").write_text(plan.partition("\n")[2])
    kernel.write_text(code)
    found = answer(kernel, "--plan", tmp_path / "plan.toml", "--set", "BLOCK=128")
    assert [one["name"] for one in found["kernels"]] == ["row_sum"]


@pytest.mark.nvrtc
def test_other_architectures_can_be_asked_for(kernel: Path) -> None:
    assert answer(kernel, "--arch", "sm_80")["kernels"][0]["sass"]["instructions"] > 0


@pytest.mark.nvrtc
def test_code_that_does_not_compile_or_holds_no_kernel_is_one_line(kernel: Path) -> None:
    text = kernel.read_text()
    kernel.write_text(text.replace("float sum = 0.0f;", "flaot sum = 0.0f;"))
    refused(rooftree("inspect", kernel), "row_sum.cu", "does not compile")
    kernel.write_text(text.replace('extern "C"', ""))
    refused(rooftree("inspect", kernel), "launches 'row_sum'", 'extern "C"')
    kernel.write_text("__device__ int twice(int x) { return 2 * x; }\n")
    refused(rooftree("inspect", kernel), "no __global__ kernel")


@pytest.mark.nvrtc
@pytest.mark.parametrize("columns", ["50", "80"])
def test_a_narrow_terminal_is_filled_not_overrun(
    kernel: Path, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    done = completed("inspect", kernel)
    assert max(map(len, done.stdout.splitlines())) <= int(columns)


@pytest.mark.nvrtc
def test_a_source_full_of_tricks_is_printed_as_text(kernel: Path) -> None:
    tricks = "/* \x1b[2J [bold] \u202e */"
    kernel.write_text(kernel.read_text().replace(FLOATS, f"{BYTES} {tricks}"))
    done = completed("inspect", kernel)
    assert "[bold]" in done.stdout
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout


@pytest.mark.parametrize(
    ("right", "wrong", "parts"),
    [
        ("[shape]", "[shape", ("row_sum.cu", "TOML", "line 2")),
        ('"x", "y", "rows"', '"x", "z", "rows"', ("row_sum.cu", "unknown buffer 'z'")),
        ('flops = "rows * cols"', 'flops = "rows * colls"', ("row_sum.cu", "colls")),
        ("rows = 8192", "rows = -1", ("row_sum.cu", "buffer 'x'")),
    ],
)
def test_a_plan_that_is_wrong_is_named(
    kernel: Path, right: str, wrong: str, parts: tuple[str, ...]
) -> None:
    text = kernel.read_text()
    assert right in text
    kernel.write_text(text.replace(right, wrong, 1))
    refused(rooftree("inspect", kernel), *parts)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("--set", "BLOCK=96"), "out of range"),
        (("--set", "BLOK=64"), "unknown tunable"),
        (("--set", "BLOCK"), "NAME=VALUE"),
        (("--task", "row_sofmax"), "did you mean row_softmax"),
        (("--plan", "none.toml"), "none.toml does not exist"),
        (("--replay", "none.json"), "none.json does not exist"),
        (("--save", "kept.json"), NO_GPU),
        (("--device", "3"), "--device 3"),
    ],
)
def test_a_wrong_option_is_one_line(kernel: Path, words: tuple[str, ...], part: str) -> None:
    refused(rooftree("inspect", kernel, *words), part)


def test_a_macro_must_have_a_macros_name() -> None:
    file = DATA / "inspect/no_plan.cu"
    refused(rooftree("inspect", file, "--set", "a b=1"), "macro")
    refused(rooftree("inspect", file, "--task", "transpose"), "no launch plan")


DEVICE = Hardware(
    name="Paper GPU",
    ceilings=Ceilings(copy_gb_per_s=4000, l2_gb_per_s=8000, fp32_tflop_per_s=60, launch_us=2),
)


def measured(name: str = "naive_mm") -> Inspected:
    """What ncu really said of a kernel, as if of the row sum."""
    report = ncu.read_report(DATA / "ncu/three_kernels.csv")
    metrics = next(kernel.metrics for kernel in report.kernels if kernel.name == name)
    profile = Profile(
        kernels=(KernelProfile(name="row_sum", metrics=metrics),), hardware=DEVICE,
        missing={"sass": "left out"},
    )  # fmt: skip
    duration_us = metrics[m.DURATION].value / 1e3
    return Inspected(profile, duration_us, Work(bytes=134250496, flops=33554432))


def record(path: Path, source: str, tunables: dict[str, Any]) -> None:
    path.parent.mkdir(exist_ok=True)
    recording = ProfileRecording()
    recording.put(source, tunables, measured())
    recording.save(path)


def test_a_recording_beside_the_file_answers_and_says_so(kernel: Path) -> None:
    (kernel.parent / "recordings").mkdir()
    (kernel.parent / "recordings" / "z_damaged.json.gz").write_bytes(b"\x1f\x8bno")
    record(kernel.parent / "recordings/paper.json.gz", kernel.read_text(), {"BLOCK": 64})
    found = answer(kernel)
    assert found["replayed"] is True
    assert found["hardware"].startswith("Paper GPU (recorded 20")
    assert found["class"] != "unknown"
    assert found["time_us"] > 0
    assert found["findings"]
    assert found["missing"]["sass"] == "left out"
    done = rooftree("inspect", kernel)
    assert "on Paper GPU, replayed: recorded 20" in done.stdout
    assert "TFLOP/s over FLOP/byte" in done.stdout


def test_a_recording_can_be_named(kernel: Path, tmp_path: Path) -> None:
    record(tmp_path / "kept.json", kernel.read_text(), {"BLOCK": 128})
    found = answer(kernel, "--replay", tmp_path / "kept.json", "--set", "BLOCK=128")
    assert found["replayed"] is True
    done = rooftree("inspect", kernel, "--replay", tmp_path / "kept.json")
    refused(done, "kept.json", "BLOCK=64", "--save")
    kernel.write_text(kernel.read_text() + "// changed\n")
    done = rooftree("inspect", kernel, "--replay", tmp_path / "kept.json", "--set", "BLOCK=128")
    refused(done, "this very source")


def test_a_plan_of_its_own_is_part_of_what_is_recorded(kernel: Path, tmp_path: Path) -> None:
    plan, code = kernel.read_text().split("*/", 1)
    toml = plan.partition("\n")[2]
    own = tmp_path / "plan.toml"
    own.write_text(toml)
    kernel.write_text(code)
    kept = tmp_path / "kept.json"
    record(kept, f"/* rooftree\n{toml}\n*/\n{code}", {"BLOCK": 64})
    assert answer(kernel, "--plan", own, "--replay", kept)["replayed"] is True
    own.write_text(toml.replace("rows = 8192", "rows = 4096"))
    refused(rooftree("inspect", kernel, "--plan", own, "--replay", kept), "kept.json")


def test_a_damaged_recording_that_was_asked_for_is_named(kernel: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.json.gz"
    kept.write_bytes(gzip.compress(b'{"format": "other"}'))
    refused(rooftree("inspect", kernel, "--replay", kept), "kept.json.gz")
    kept.write_bytes(b"\x1f\x8bno")
    refused(rooftree("inspect", kernel, "--replay", kept), "kept.json.gz")


def test_a_picture_is_drawn(kernel: Path, tmp_path: Path) -> None:
    record(tmp_path / "kept.json", kernel.read_text(), {"BLOCK": 64})
    out = tmp_path / "roofline.svg"
    done = completed("inspect", kernel, "--replay", tmp_path / "kept.json", "-o", out)
    assert f"picture: {out}" in done.stderr
    assert "row_sum" in out.read_text()


def test_a_bundled_kernel_is_replayed_from_its_tasks_recording() -> None:
    folder = Path(__file__).parents[3] / "experiments/data/tasks/transpose"
    found = answer(folder / "kernel.cu")
    assert found["replayed"] is True
    assert "H200" in found["hardware"]
    assert found["class"] == "memory"
    assert found["kernels"][0]["sass"]["registers"] > 0


def test_counters_of_a_report_become_guidance_for_each_kernel() -> None:
    path = SHARED / "ncu/ncu_full.csv"
    if not path.is_file():
        path = DATA / "ncu/three_kernels.csv"
    found = answer(path)
    assert [one["name"] for one in found["kernels"]] == ["saxpy_strided", "naive_mm", "saxpy"]
    assert found["class"] == "memory"
    assert found["time_us"] == pytest.approx(4163.52)
    tools = {(one["kernel"], one["tool"]) for one in found["findings"]}
    assert ("saxpy_strided", "coalescing") in tools
    assert ("saxpy", "coalescing") not in tools
    done = rooftree("inspect", path)
    assert "3 kernels of" in done.stdout
    assert "as reported" in done.stdout
    assert "% of each unit's peak" in done.stdout


def test_a_file_that_is_no_report_is_refused(tmp_path: Path) -> None:
    for name, content in (("words.csv", "a,b\n1,2\n"), ("x.sqlite", "no"), ("y.ncu-rep", "no")):
        (tmp_path / name).write_text(content)
        refused(rooftree("inspect", tmp_path / name), name)


def test_a_timeline_is_told_with_its_kernels() -> None:
    path = DATA / "nsys/three_kernels.sqlite"
    found = answer(path)
    assert {one["name"] for one in found["kernels"]} == {"saxpy", "saxpy_strided", "naive_mm"}
    assert found["timeline"]["kernels"] == 3
    assert "timeline" in rooftree("inspect", path).stdout


@has_nvcc
@reads_code
def test_a_program_without_a_gpu_is_built_and_read() -> None:
    found = answer(DATA / "inspect/two_copies.cu", "--set", "PIECES=4", "--", "17")
    assert [one["name"] for one in found["kernels"]] == ["scale"]
    assert found["kernels"][0]["sass"]["registers"] > 0
    assert NO_GPU in found["missing"]["ncu"]


@has_nvcc
def test_a_program_that_cannot_be_built_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "broken.cu"
    file.write_text("int main() { return nothing; }\n")
    refused(rooftree("inspect", file), "broken.cu cannot be built", "nothing")


def test_a_program_needs_nvcc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("profilers.compiling.toolchain.find_tool", lambda _name: None)
    refused(rooftree("inspect", DATA / "inspect/two_copies.cu"), "needs nvcc")


def test_a_program_is_replayed_by_its_source_macros_and_arguments(tmp_path: Path) -> None:
    file = Path(shutil.copy(DATA / "inspect/two_copies.cu", tmp_path))
    kept = tmp_path / "kept.json"
    record(kept, file.read_text(), {"PIECES": 4, "--": "17 'two words'"})
    found = answer(file, "--set", "PIECES=4", "--replay", kept, "--", "17", "two words")
    assert found["replayed"] is True
    refused(rooftree("inspect", file, "--set", "PIECES=4", "--replay", kept), "kept.json")
    refused(rooftree("inspect", file, "--replay", kept, "--", "18"), "arguments 18")


@reads_code
def test_an_executable_without_device_code_is_one_line() -> None:
    done = rooftree("inspect", Path("/bin/ls").resolve())
    refused(done, "no device code", NO_GPU)


@reads_code
def test_a_cubin_is_read() -> None:
    found = answer(DATA / "sass/kernels.cubin")
    assert len(found["kernels"]) > 1
    assert all(one["sass"]["instructions"] > 0 for one in found["kernels"])


@reads_code
def test_the_picture_needs_something_to_draw(tmp_path: Path) -> None:
    out = tmp_path / "none.svg"
    done = rooftree("inspect", DATA / "sass/kernels.cubin", "-o", out)
    assert done.exit_code == 2
    assert "nothing to draw" in done.stderr
    assert not out.exists()


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """The row sum with wide loads and without unrolling."""
    path = tmp_path / "other.cu"
    text = (DATA / "inspect/row_sum.cu").read_text(encoding="utf-8")
    path.write_text(text.replace("for (", "#pragma unroll 1\n    for ("), encoding="utf-8")
    return path


@reads_code
@pytest.mark.nvrtc
def test_two_kernels_stand_beside_each_other(kernel: Path, other: Path) -> None:
    done = completed("inspect", kernel, other)
    rows = {line.split("  ")[0].strip(): line for line in done.stdout.splitlines()}
    assert done.stdout.splitlines()[0].split() == [kernel.name, other.name]
    assert "row_sum" in rows["kernel"]
    assert "silent" in rows["rolled_loops"]
    assert len(rows["instructions"].split()) == 3


@reads_code
@pytest.mark.nvrtc
def test_two_kernels_as_json_are_a_list(kernel: Path, other: Path) -> None:
    found = json_of("inspect", kernel, other)
    assert [one["file"] for one in found] == [str(kernel), str(other)]


def test_the_second_file_must_be_there_and_options_for_one_file_are_refused(kernel: Path) -> None:
    refused(rooftree("inspect", kernel, "nowhere.cu"), "nowhere.cu does not exist")
    refused(rooftree("inspect", kernel, kernel, "--sass"), "--sass is for one file")
    refused(rooftree("inspect", kernel, kernel, "--what-if"), "--what-if is for one file")
    refused(rooftree("inspect", kernel, "--", "a", "b"), "arguments would do nothing")


CLINIC = FOLDER / "kernels"
REPLAYED = ("--replay", CLINIC / "recordings/nvidia_h200.json.gz")


def test_what_one_repair_after_another_would_gain() -> None:
    seams = CLINIC / "c_seam_paths_weights_in_registers.cu"
    shown = completed("inspect", seams, *REPLAYED, "--what-if", columns=120).stdout
    _, table = shown.split("what if, one repair after another\n")
    first, second = table.splitlines()[:2]
    assert first.split()[:4] == ["occupancy_limiter", "2.00x", "in", "all,"]
    assert first.endswith("limited by waiting") and " us, " in first
    assert second.split()[:2] == ["narrow_access", "1.73x,"]
    assert "what if" not in completed("inspect", seams, *REPLAYED).stdout
    steps = json_of("inspect", seams, *REPLAYED)["what_if"]
    assert [one["tool"] for one in steps][:2] == ["occupancy_limiter", "narrow_access"]
    assert 1 < steps[0]["gain"] < steps[1]["gain"] and steps[0]["kernel"]


@pytest.mark.nvrtc
def test_without_counters_no_repair_has_a_gain(kernel: Path) -> None:
    shown = completed("inspect", kernel, "--what-if").stdout
    assert "what if: not known, as no counters were taken" in shown


@reads_code
@pytest.mark.nvrtc
def test_machine_code_stands_below_its_source_lines(kernel: Path) -> None:
    done = completed("inspect", kernel, "--sass")
    listing = done.stdout.split("machine code of row_sum by source line")[1].splitlines()
    (store,) = [at for at, line in enumerate(listing) if "y[row] = sum;" in line]
    below = listing[store + 1 : store + 12]
    assert any("STG.E" in line for line in below)
    assert not any("NOP" in line for line in listing)


@reads_code
@pytest.mark.nvrtc
def test_machine_code_by_line_as_json(kernel: Path) -> None:
    found = json_of("inspect", kernel, "--sass")
    (one,) = found["sass"]
    lines = [each["line"] for each in one["lines"] if each["line"] is not None]
    assert lines == sorted(set(lines))
    counted = sum(len(each["sass"]) for each in one["lines"])
    assert counted >= found["kernels"][0]["sass"]["instructions"]


@reads_code
@has_nvcc
def test_machine_code_of_a_program_by_line() -> None:
    done = completed("inspect", DATA / "inspect/two_copies.cu", "--sass")
    assert "machine code of" in done.stdout
    assert "LDG" in done.stdout
