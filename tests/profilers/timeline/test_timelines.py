"""Repeated calls find their windows in a recording, and every variant gets an answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from profilers.children.supervised import Ended
from profilers.compiling.calls import Call, Step
from profilers.launching.requests import ProfiledBuffer, ProfilingRequest, read_progress
from profilers.timeline import Activity, ApiCall, TimelineReport, nsys
from profilers.timeline import collecting as timelines
from profilers.timeline.collecting import collect_timelines
from profilers.timeline.cupti import NO_CUPTI
from profilers.timeline.target import LEAST_CALLS, MOST_CALLS, RepeatedCalls, repetitions
from profilers.timeline.windows import MARK, CallTimeline, between_marks, call_timeline

CALL = Call(steps=(Step(kernel="a"), Step(memset="w"), Step(kernel="_Z1bPf")), workspaces={"w": 64})


def request(call: Call = CALL) -> ProfilingRequest:
    data = (ProfiledBuffer("x", 64, "float32", "normal"),)
    return ProfilingRequest(cubin=Path("a.cubin"), call=call, data=data, timeline=True)


class Recording:
    """What a recorder would see of a process: each operation 10 us after the last one began."""

    def __init__(self) -> None:
        self.activities: list[Activity] = []
        self.calls: list[ApiCall] = []
        self.marks = 0
        self._at = 0

    def run(self, *names: str) -> None:
        for name in names:
            self._at += 10_000
            number = len(self.activities) + 1
            kind = "memset" if name == "" else "kernel"
            self.activities.append(
                Activity(kind, name, self._at, self._at + 4000, 7, number)  # type: ignore[arg-type]
            )
            self.calls.append(ApiCall("cuLaunchKernel", self._at - 3000, self._at - 2000, number))
            self.marks += name == MARK

    def wait(self) -> None:
        self.calls.append(ApiCall("cuStreamSynchronize", self._at + 500, self._at + 4500))

    def variant(self, index: int, count: int = 3) -> dict[str, Any]:
        """Warm-up, timed calls and a window between marks; the variant's progress line."""
        self.run("a", "", "b")
        self.wait()
        self.run(MARK, "a", "", "b")
        mark = self.marks
        self.run(MARK)
        self.wait()
        self.run(*["a", "", "b"] * count)
        self.wait()
        self.run(MARK)
        return {"variant": index, "mark": mark, "repetitions": count, "time_us": 25.0}

    @property
    def report(self) -> TimelineReport:
        return TimelineReport(tuple(reversed(self.activities)), tuple(self.calls), {})


def seen(recording: Recording, line: Mapping[str, Any]) -> CallTimeline | str:
    part = between_marks(recording.report, line["mark"])
    assert part is not None
    return call_timeline(
        part,
        kernels=["a", "_Z1bPf"],
        repetitions=line["repetitions"],
        time_us=line["time_us"],
        source="nsys",
    )


def test_each_variant_gets_its_own_window() -> None:
    recording = Recording()
    recording.run("rooftree_fill", "rooftree_fill")
    lines = [recording.variant(5), recording.variant(2, count=4)]
    for line, count in zip(lines, (3, 4), strict=True):
        found = seen(recording, line)
        assert isinstance(found, CallTimeline)
        facts = found.facts
        assert (facts.calls, facts.kernels, facts.kernel_names) == (count, 2 * count, 2)
        assert facts.span_us == 30 * count - 6
        assert (facts.busy_us, facts.launches) == (8 * count, 3 * count)
        assert found.kernel_times == {"a": [4.0] * count, "b": [4.0] * count}


def test_the_targets_own_waiting_does_not_count() -> None:
    recording = Recording()
    found = seen(recording, recording.variant(0))
    assert isinstance(found, CallTimeline)
    assert (found.facts.sync_calls, found.facts.first_use_us) == (0, 0)


def test_a_window_with_other_kernels_is_a_reason() -> None:
    recording = Recording()
    line = recording.variant(0)
    assert "6 kernels in a window of 8" in str(seen(recording, {**line, "repetitions": 4}))
    recording.activities = [
        Activity(*(getattr(item, name) for name in item.__slots__)) if item.name != "b"
        else Activity("kernel", "c", item.start_ns, item.end_ns)
        for item in recording.activities
    ]  # fmt: skip
    assert "not those that were launched" in str(seen(recording, line))


def test_a_window_without_marks_is_none() -> None:
    recording = Recording()
    line = recording.variant(0)
    assert between_marks(recording.report, line["mark"] + 1) is None
    assert between_marks(TimelineReport(), 0) is None


def test_a_timeline_crosses_as_json() -> None:
    recording = Recording()
    found = seen(recording, recording.variant(0))
    assert isinstance(found, CallTimeline)
    assert CallTimeline.from_json(json.loads(json.dumps(found.to_json()))) == found


def test_windows_take_some_milliseconds() -> None:
    assert repetitions(1e6) == LEAST_CALLS == 3
    assert repetitions(0.5) == MOST_CALLS == 50
    assert repetitions(1000.0) == 10


Script = Callable[[dict[str, Any]], tuple[list[dict[str, Any]], Any]]


class Processes:
    """Recorded processes by script: each is given the spec, answers progress lines and an end."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[tuple[str, list[int]]] = []
        self.scripts: dict[str, list[Script]] = {"nsys": [], "cupti": []}
        monkeypatch.setattr(timelines.nsys, "profile_program", self._under_nsys)
        monkeypatch.setattr(timelines, "run_to_end", self._alone)

    def _run(self, command: Sequence[str]) -> Any:
        spec = json.loads(Path(command[-2]).read_text())
        self.asked.append((command[-1], [item["index"] for item in spec["variants"]]))
        scripts = self.scripts[command[-1]]
        lines, end = (scripts.pop(0) if len(scripts) > 1 else scripts[0])(spec)
        Path(spec["progress"]).write_text("".join(json.dumps(line) + "\n" for line in lines))
        return end

    def _under_nsys(self, command: Sequence[str], **_: Any) -> TimelineReport:
        report: TimelineReport = self._run(command)
        return report

    def _alone(self, command: Sequence[str], **_: Any) -> Ended:
        ended: Ended = self._run(command)
        return ended


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> Processes:
    made = Processes(monkeypatch)
    made.scripts = {"nsys": [no_nsys], "cupti": [no_cupti]}
    return made


def no_nsys(_spec: dict[str, Any]) -> tuple[list[dict[str, Any]], TimelineReport]:
    return [], TimelineReport(missing={nsys.TOOL: "nsys was not found"})


def no_cupti(_spec: dict[str, Any]) -> tuple[list[dict[str, Any]], Ended]:
    said = "install cupti-python"
    return [], Ended(said, f"ended with status {NO_CUPTI}: {said}", NO_CUPTI)


def good_nsys(spec: dict[str, Any]) -> tuple[list[dict[str, Any]], TimelineReport]:
    recording = Recording()
    lines = [recording.variant(item["index"]) for item in spec["variants"]]
    return lines, recording.report


def by_cupti(item: dict[str, Any]) -> dict[str, Any]:
    recording = Recording()
    found = seen(recording, recording.variant(0))
    assert isinstance(found, CallTimeline)
    return {"variant": item["index"], "seen": found.to_json()}


def good_cupti(spec: dict[str, Any]) -> tuple[list[dict[str, Any]], Ended]:
    return [by_cupti(item) for item in spec["variants"]], Ended("", None, 0)


def collect(*indices: int) -> dict[int, CallTimeline | str]:
    return collect_timelines(
        {n: request() for n in indices}, device=0, support=Path("support.cubin")
    )


def test_nsys_is_used_if_it_works(processes: Processes) -> None:
    processes.scripts["nsys"] = [good_nsys]
    found = collect(4, 1)
    assert all(isinstance(item, CallTimeline) for item in found.values())
    assert processes.asked == [("nsys", [4, 1])]


def test_cupti_is_used_if_nsys_is_absent(processes: Processes) -> None:
    processes.scripts["cupti"] = [good_cupti]
    assert all(isinstance(item, CallTimeline) for item in collect(4, 1).values())
    assert processes.asked == [("nsys", [4, 1]), ("cupti", [4, 1])]


def test_both_reasons_are_told_if_both_are_absent(processes: Processes) -> None:
    assert set(collect(4, 1).values()) == {"nsys was not found; install cupti-python"}
    assert len(processes.asked) == 2


def test_a_variant_that_faults_is_told_and_the_rest_goes_on(processes: Processes) -> None:
    def faults(spec: dict[str, Any]) -> tuple[list[dict[str, Any]], TimelineReport]:
        lines, report = good_nsys({"variants": spec["variants"][:1]})
        fault = {"variant": spec["variants"][1]["index"], "error": "illegal address", "fatal": True}
        return [*lines, fault], TimelineReport(
            report.activities, report.api_calls, {nsys.PROGRAM: "ended with status 1"}
        )

    processes.scripts["nsys"] = [faults, good_nsys]
    found = collect(0, 1, 2)
    assert found[1] == "not recorded: illegal address"
    assert isinstance(found[0], CallTimeline) and isinstance(found[2], CallTimeline)
    assert processes.asked == [("nsys", [0, 1, 2]), ("nsys", [2])]


def test_cupti_records_what_nsys_lost(processes: Processes) -> None:
    def loses(spec: dict[str, Any]) -> tuple[list[dict[str, Any]], TimelineReport]:
        lines, report = good_nsys(spec)
        cut = report.activities[-20:]  # the earliest
        return lines, TimelineReport(cut, report.api_calls, {})

    processes.scripts = {"nsys": [loses], "cupti": [good_cupti]}
    found = collect(0, 1, 2)
    assert all(isinstance(item, CallTimeline) for item in found.values())
    assert processes.asked == [("nsys", [0, 1, 2]), ("cupti", [1, 2])]


def test_an_nsys_that_saw_no_kernel_is_a_reason(processes: Processes) -> None:
    def blind(spec: dict[str, Any]) -> tuple[list[dict[str, Any]], TimelineReport]:
        return good_nsys(spec)[0], TimelineReport(missing={"kernels": "CUDA was not traced"})

    processes.scripts["nsys"] = [blind]
    assert "nsys lost" in str(collect(0)[0])


def test_a_process_that_ends_at_once_is_a_reason(processes: Processes) -> None:
    def ends(_spec: dict[str, Any]) -> tuple[list[dict[str, Any]], TimelineReport]:
        return [], TimelineReport(missing={nsys.PROGRAM: "ended with status 1: no NVIDIA driver"})

    processes.scripts["nsys"] = [ends]
    processes.scripts["cupti"] = [lambda _: ([], Ended("x", "was killed by SIGSEGV", -11))]
    assert collect(0)[0] == (
        "under nsys the recorded process ended with status 1: no NVIDIA driver; "
        "the recorded process was killed by SIGSEGV"
    )


def test_a_variant_that_hangs_is_blamed_and_the_rest_goes_on(processes: Processes) -> None:
    def hangs(spec: dict[str, Any]) -> tuple[list[dict[str, Any]], Ended]:
        lines = [by_cupti(item) for item in spec["variants"][:1]]
        return lines, Ended("", "was stopped after 70 s", None, stopped=True)

    processes.scripts["cupti"] = [hangs, good_cupti]
    found = collect(0, 1, 2)
    assert found[1] == "not recorded: the process was stopped after 70 s"
    assert isinstance(found[0], CallTimeline) and isinstance(found[2], CallTimeline)


def test_variants_that_always_end_the_process_are_given_up(processes: Processes) -> None:
    def faults(spec: dict[str, Any]) -> tuple[list[dict[str, Any]], Ended]:
        line = {"variant": spec["variants"][0]["index"], "error": "it faulted", "fatal": True}
        return [line], Ended("", "ended with status 1", 1)

    processes.scripts["cupti"] = [faults]
    found = collect(*range(7))
    assert [text for text in found.values() if "faulted" not in str(text)]
    assert len(processes.asked) < 7
    assert all(isinstance(text, str) and text for text in found.values())


def test_a_progress_file_cut_in_its_last_line_is_read_up_to_there(tmp_path: Path) -> None:
    path = tmp_path / "progress.jsonl"
    assert read_progress(path) == []
    path.write_text('{"variant": 0}\n{"variant": 1')
    assert read_progress(path) == [{"variant": 0}]


class Bench:
    """A session and a prepared call in one, which note what is asked of them."""

    def __init__(self, call_us: float) -> None:
        self.log: list[str] = []
        self.context = self
        self.steps = 3
        self._call_us = call_us

    def enqueue(self) -> None:
        self.log.append("call")

    def flush(self) -> None:
        self.log.append("flush")

    def synchronize(self) -> None:
        self.log.append("wait")

    def event(self) -> Bench:
        return self

    def record(self, _event: Bench) -> None:
        self.log.append("event")

    def us_since(self, _earlier: Bench) -> float:
        return self._call_us


@pytest.mark.parametrize(("call_us", "timed", "window"), [(2500.0, 5, 4), (30_000.0, 3, 3)])
def test_the_target_says_where_its_windows_are(call_us: float, timed: int, window: int) -> None:
    bench = Bench(call_us)
    repeated = RepeatedCalls(None)
    for _ in range(2):
        before = bench.log.count("flush")
        line = repeated(bench, bench, {"call": CALL.to_json()})  # type: ignore[arg-type]
        assert (line["time_us"], line["warm_up"], line["operations"]) == (call_us, 1 + timed, 3)
        assert line["repetitions"] == window
        assert line["mark"] == before + timed
        after = [at for at, word in enumerate(bench.log) if word == "flush"][line["mark"]]
        assert bench.log[after:] == ["flush", "wait", *["call"] * window, "wait", "flush", "wait"]


@pytest.mark.gpu
@pytest.mark.nvrtc
@pytest.mark.parametrize("way", ["nsys", "cupti"])
def test_a_real_device_is_recorded(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from profilers.compiling.compiler import Compiler, architecture
    from profilers.hardware.device import find_gpu
    from profilers.measuring.rates import SUPPORT_SOURCE

    if way == "cupti":
        monkeypatch.setattr(nsys, "find_tool", lambda _name: None)
    elif nsys.find_tool(nsys.TOOL) is None:
        pytest.skip("no nsys here")
    gpu = find_gpu(0)
    compiler = Compiler(arch=architecture(gpu.compute_capability), cache_dir=tmp_path, processes=1)
    try:
        support = compiler.compile(SUPPORT_SOURCE.read_text(), name=SUPPORT_SOURCE.name)
        source = (
            'extern "C" __global__ void twice(float* x, int n) {\n'
            "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
            "    if (i < n) x[i] *= 2;\n}\n"
        )
        compiled = compiler.compile(source, name="twice.cu")
    finally:
        compiler.close()
    n = 1 << 24
    step = Step(kernel="twice", grid=(n // 256, 1, 1), block=(256, 1, 1),
                args=(("buffer", "x"), ("int32", n)))  # fmt: skip
    call = Call(steps=(Step(memset="w"), step, step), workspaces={"w": 4096})
    item = ProfilingRequest(
        cubin=compiled.cubin, call=call, data=(ProfiledBuffer("x", 4 * n, "float32", "normal"),)
    )
    found = collect_timelines({0: item, 7: item}, device=0, support=support.cubin)
    for seen in found.values():
        if isinstance(seen, str) and way == "cupti" and "cupti-python" in seen:
            pytest.skip(seen)
        assert isinstance(seen, CallTimeline), seen
        facts = seen.facts
        assert facts.source == way
        assert facts.kernels == 2 * facts.calls == facts.launches
        assert facts.busy_us + facts.gap_us <= facts.span_us * 1.0001
        assert 5 < sum(seen.kernel_times["twice"]) / facts.kernels < 1000
