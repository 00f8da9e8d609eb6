"""`rooftree inspect` of PyTorch models and Python programs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from experiments.inspect import models, programs
from experiments.inspect.programs import Run, measure_script
from experiments.inspect.targets import identify
from experiments.runs.wiring import composing
from mcts.domain import Hardware, Metric
from mcts.domain import metrics as m
from mcts.errors import InputError
from mcts.requests import EvaluatorRequest
from profilers import ncu
from profilers.timeline import nsys, python_program
from profilers.timeline.activities import Activity, ApiCall, TimelineReport
from profilers.timeline.python_program import ProgramRecord
from tests.support import suite_judge
from tests.support.commands import failed, json_of, refused, rooftree

LIBRARY = "void at::native::vectorized_elementwise_kernel<4, relu>(int, relu)"
MODEL_NEW = "class ModelNew:\n    pass\n"
NO_GPU = "no GPU in this test"


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    path = tmp_path / "1_Product.py"
    path.write_text(suite_judge.FAIR)
    return path


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real judge, on the device of numpy and sleep."""

    def made(source: Any, judging: Any, *, on_progress: Any) -> Any:
        return suite_judge.evaluator(
            EvaluatorRequest(task=source.task, judging=judging, seed=0, on_progress=on_progress)
        )

    monkeypatch.setattr(composing, "choose_evaluator", made)
    monkeypatch.setattr("experiments.inspect.inspecting.gpu_problem", lambda _device: None)


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.inspect.inspecting.gpu_problem", lambda _device: NO_GPU)


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        (suite_judge.FAIR, "model"),
        (suite_judge.FAST, "model"),
        (MODEL_NEW, "model"),
        ("import torch\ntorch.zeros(3)\n", "script"),
        ("def get_inputs():\n    return []\n\nclass Model:\n    pass\n", "script"),
    ],
)
def test_python_is_a_model_or_a_program(tmp_path: Path, source: str, kind: str) -> None:
    path = tmp_path / "some.py"
    path.write_text(source)
    assert identify(path).kind == kind


@pytest.mark.usefixtures("judge")
def test_a_problems_model_is_timed_kept_and_replayed(problem: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.json.gz"
    found = json_of("inspect", problem, "--save", kept)
    assert found["replayed"] is False
    assert 7e3 < found["time_us"] < 1e5
    again = json_of("inspect", problem, "--replay", kept)
    assert again["replayed"] is True
    assert again["time_us"] == pytest.approx(found["time_us"], rel=1e-3)


@pytest.mark.usefixtures("judge")
def test_a_candidate_is_inspected_beside_its_problem(problem: Path, tmp_path: Path) -> None:
    fast, wrong = tmp_path / "fast.py", tmp_path / "wrong.py"
    fast.write_text(suite_judge.FAST)
    wrong.write_text(suite_judge.WRONG)
    found = json_of("inspect", fast, "--task", problem)
    assert found["time_us"] < json_of("inspect", problem)["time_us"]
    failed(rooftree("inspect", wrong, "--task", problem), "wrong.py: wrong result: ")


@pytest.mark.usefixtures("judge")
def test_a_problem_may_have_its_candidate_in_the_same_file(problem: Path) -> None:
    text = problem.read_text()
    model = models.read_model(problem, text + MODEL_NEW, task=None)
    assert model.candidate.source == text + MODEL_NEW
    alone = models.read_model(problem, text, task=None)
    assert alone.candidate == alone.problem.task.baseline


def test_a_recording_goes_by_candidate_and_problem(problem: Path, tmp_path: Path) -> None:
    candidate = tmp_path / "fast.py"
    candidate.write_text(MODEL_NEW)
    one = models.read_model(candidate, MODEL_NEW, task=str(problem))
    problem.write_text(problem.read_text().replace("0.008", "0.009"))
    other = models.read_model(candidate, MODEL_NEW, task=str(problem))
    assert one.recorded_as != other.recorded_as


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize(
    ("source", "words", "parts"),
    [
        (MODEL_NEW, (), ("is a ModelNew", "--task")),
        (suite_judge.FAIR, ("--task", "row_softmax"), ("is a problem of its own",)),
        (MODEL_NEW, ("--task", "row_softmax"), ("row_softmax", "KernelBench problem, a .py")),
        (suite_judge.FAIR, (), ("is Python, which has to be run", NO_GPU, "--replay")),
        ("print()", (), ("is Python, which has to be run", NO_GPU, "--replay")),
        (suite_judge.FAIR, ("--", "7"), ("arguments would do nothing",)),
        (suite_judge.FAIR, ("--arch", "sm_90"), ("--arch would do nothing",)),
        ("print()", ("--sass",), ("--sass would do nothing",)),
        ("print()", ("--set", "A=1"), ("--set would do nothing",)),
        ("def (", (), ("given.py: line 1",)),
    ],
)
def test_what_cannot_be_done_is_one_line(
    tmp_path: Path, source: str, words: tuple[str, ...], parts: tuple[str, ...]
) -> None:
    path = tmp_path / "given.py"
    path.write_text(source)
    refused(rooftree("inspect", path, *words), *parts)


class NoGpu:
    """Stands in for the inspector: a device's name, no device."""

    hardware = Hardware(name="Paper GPU", compute_capability="9.0")

    def __init__(self, **_: object) -> None:
        pass

    def __enter__(self) -> NoGpu:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def counted(name: str) -> ncu.NcuKernel:
    return ncu.NcuKernel(
        name, {m.DURATION: Metric(value=4e3, unit="ns"), m.DRAM: Metric(value=70, unit="%")}
    )


CUPTI = """
from enum import IntEnum
from types import SimpleNamespace

ActivityKind = IntEnum("ActivityKind", {"MEMCPY": 1, "MEMSET": 2, "KERNEL": 3, "DRIVER": 4,
                                        "RUNTIME": 5, "CONCURRENT_KERNEL": 10})
CallbackDomain = IntEnum("CallbackDomain", {"DRIVER_API": 1, "RUNTIME_API": 2})
ActivityMemoryKind = IntEnum("ActivityMemoryKind", {"PAGEABLE": 1})
ActivityMemcpyKind = IntEnum("ActivityMemcpyKind", {"UNKNOWN": 0})
launched = []


class cuptiError(Exception):
    pass


def activity_register_callbacks(request, complete):
    global receive
    receive = complete


def activity_enable(kind):
    pass


def activity_flush_all(forced):
    receive([SimpleNamespace(kind=10, start=100 * n + 100, end=100 * n + 100 + us, stream_id=7,
                             correlation_id=n, name=name) for n, (name, us) in enumerate(launched)])
"""
RELU = "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_4reluEEEviT0_"
PROGRAM = f"""
import sys
from cupti import cupti
assert __name__ == "__main__" and sys.argv == [__file__, "3"]
import beside
for _ in range(int(sys.argv[1])):
    cupti.launched.append(("{RELU}", 40))
cupti.launched.append(("_Z5scalePf", 20))
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program, a stand-in for NVIDIA's package that sees its launches, and what ncu answers."""
    package = tmp_path / "packages" / "cupti"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "cupti.py").write_text(CUPTI)
    monkeypatch.setenv("PYTHONPATH", str(package.parent))

    def collect(_command: object, *, kernels: list[str], **_: object) -> ncu.NcuReport:
        return ncu.NcuReport((counted(kernels[0]),), {})

    monkeypatch.setattr("profilers.profiles.inspecting.Inspector", NoGpu)
    monkeypatch.setattr("profilers.ncu.collect", collect)
    monkeypatch.setattr(nsys, "profile_program", lambda *_, **__: TimelineReport(
        missing={nsys.TOOL: "nsys is not here"}
    ))  # fmt: skip
    (tmp_path / "beside.py").write_text("")
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def test_a_python_program_records_itself_and_libraries_kernels_are_told(program: Path) -> None:
    seen = measure_script(program, ("3",), device=0, timeout_s=60, on_progress=print)
    library, own = seen.profile.kernels
    assert (own.name, own.launches, own.library) == ("scale", 1, False)
    assert library.name.startswith("at::native::vectorized_elementwise_kernel<4")
    assert (library.launches, library.library) == (3, True)
    assert library.value(m.DRAM) == 70
    assert seen.profile.timeline is not None
    assert (seen.profile.timeline.source, seen.profile.timeline.kernels) == ("cupti", 4)
    assert nsys.TOOL not in seen.profile.missing
    assert "not looked for" in seen.profile.missing["sass"]


def test_a_program_that_fails_is_told_with_its_own_words(program: Path) -> None:
    program.write_text("import sys\nsys.exit('no such file: weights.bin')\n")
    with pytest.raises(InputError, match=r"program.py ended with status 1: no such file: weights"):
        measure_script(program, (), device=0, timeout_s=60, on_progress=print)


def test_a_python_program_that_uses_no_device_is_one_line(program: Path) -> None:
    program.write_text("print('hello')\n")
    with pytest.raises(InputError, match=r"program\.py launched nothing on the device"):
        measure_script(program, (), device=0, timeout_s=60, on_progress=print)


def test_a_python_program_that_hangs_is_ended(program: Path) -> None:
    program.write_text("import time\ntime.sleep(600)\n")
    with pytest.raises(InputError, match=r"program\.py was stopped after 1 s.*--timeout-s"):
        measure_script(program, (), device=0, timeout_s=1, on_progress=print)


def test_where_nothing_can_record_it_both_reasons_are_told(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "")
    program.write_text("")
    (program.parent / "packages" / "cupti" / "cupti.py").unlink()
    monkeypatch.setattr(programs, "distinct_kernels", lambda _kernels: [])
    monkeypatch.setattr(Run, "first_counters", lambda _run: ncu.NcuReport((), {}))
    seen = measure_script(program, (), device=0, timeout_s=60, on_progress=print)
    told = seen.profile.missing[nsys.TOOL]
    assert told.endswith("; nsys is not here")
    assert "cupti" in told.lower()


def test_what_was_recorded_is_read_as_it_was_written() -> None:
    report = TimelineReport(
        (
            Activity("kernel", "scale", 1, 2, 3, 4),
            Activity("copy", "", 5, 9, 7, 4, 10, "HTOD", True),
        ),
        (ApiCall("cuLaunchKernel", 1, 2, 3, 4),),
        {"some operations": "two"},
    )
    record = ProgramRecord(report, {"scale": "void scale<float>(float*)"})
    document = json.loads(json.dumps(python_program.as_json(record)))
    assert python_program.from_json(document) == record


def test_a_record_of_millions_is_cut_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python_program, "MOST_RECORDS", 2)
    report = TimelineReport(tuple(Activity("kernel", "scale", n, n + 1) for n in range(5)))
    document = python_program.as_json(ProgramRecord(report, {}))
    assert len(document["activities"]) == 2
    assert document["missing"]["some operations"].startswith("3 records beyond 2")


@pytest.mark.parametrize("text", ["{}", "[]", "null", '{"activities": [[1]], "calls": []}', "{"])
def test_garbage_in_place_of_a_record_is_a_reason(
    program: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    def command(_python: str, out: Path, *_: object) -> list[str]:
        return [sys.executable, "-c", f"open({str(out)!r}, 'w').write({text!r})"]

    monkeypatch.setattr(python_program, "command", command)
    monkeypatch.setattr(Run, "first_counters", lambda _run: ncu.NcuReport((), {}))
    seen = measure_script(program, ("3",), device=0, timeout_s=60, on_progress=print)
    assert seen.profile.missing[nsys.TOOL].startswith("what the program recorded cannot be read; ")


def test_demangled_names_are_those_of_the_runtime() -> None:
    assert python_program._demangled("_Z5scalePf") in ("scale(float*)", "_Z5scalePf")
    assert python_program._demangled("plain") == "plain"
