"""Reading T4 files of ours and of others, and saying where a bad one is wrong."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcts.domain import Candidate, Ceilings, Energy, Hardware, Metric, SassFacts
from mcts.domain import metrics as m
from mcts.errors import InputError
from profilers.recordings.replay import ReplayEvaluator, task_from_recording
from profilers.recordings.t4 import (
    RecordedConfiguration,
    Recording,
    load_recording,
    write_recording,
)


def _others(**changes: Any) -> dict[str, Any]:
    """A file as other tools write it: no metrics, single-valued tunables, milliseconds."""

    def result(block: float, times: list[float], invalidity: str = "correct") -> dict[str, Any]:
        return {
            "timestamp": "2024-05-06T07:08:09",
            "configuration": {"block_size_x": block, "layout": "NHWC", "use_padding": 1},
            "times": {"compilation": 431.5, "framework": 0.9, "runtimes": times},
            "invalidity": invalidity,
            "correctness": int(invalidity == "correct"),
            "measurements": [{"name": "GFLOP/s", "value": 99.5, "unit": "GFLOP/s"}],
            "objectives": ["time"],
            "extra": {"by": "others"},
        }

    failed = result(1024.0, [], "runtime")
    del failed["times"]["runtimes"]
    failed["measurements"] = [{"name": "time", "value": "RuntimeFailedConfig", "unit": ""}]
    document = {
        "metadata": {"timeunit": "miliseconds", "hostname": "somewhere"},
        "schema_version": "1.0.0",
        "results": [
            result(64.0, [2.0, 2.2, 2.1]),
            result(128.0, [1.0, 1.1, 1.2]),
            result(16.0, [4.0]),
            failed,
            result(32.0, [], "constraints"),
            result(128.0, [9.0]),
        ],
    }
    return {**document, **changes}


def _load(folder: Path, document: Any, name: str = "space.json") -> Recording:
    path = folder / name
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return load_recording(path)


def test_a_file_of_another_tool_is_read(tmp_path: Path) -> None:
    recording = _load(tmp_path, _others())
    assert recording.tunables == {
        "block_size_x": (16, 32, 64, 128, 1024),
        "layout": ("NHWC",),
        "use_padding": (1,),
    }
    first = recording.configurations[0]
    assert first.configuration["block_size_x"] == 64
    assert isinstance(first.configuration["block_size_x"], int)
    assert first.runtimes_us == pytest.approx((2000, 2200, 2100))
    assert first.compile_seconds == pytest.approx(0.4315)
    assert (recording.task_name, recording.task_id) == ("space", None)
    assert recording.recorded_on == "2024-05-06"


def test_the_first_of_two_equal_configurations_counts(tmp_path: Path) -> None:
    recording = _load(tmp_path, _others())
    assert len(recording.configurations) == 5
    found = recording.find({"block_size_x": 128, "layout": "NHWC", "use_padding": 1})
    assert found is not None
    assert found.time_us == pytest.approx(1100)


def test_summary_is_over_the_configuration_of_median_time(tmp_path: Path) -> None:
    summary = _load(tmp_path, _others()).summary()
    assert summary.valid == 3
    assert summary.failed == {"runtime_error": 2}
    assert summary.baseline_us == pytest.approx(2100)
    assert summary.best_speedup == pytest.approx(2100 / 1100)


@pytest.mark.parametrize(
    ("unit", "factor"),
    [("seconds", 1e6), ("miliseconds", 1e3), ("milliseconds", 1e3), ("microseconds", 1.0)],
)
def test_time_units(tmp_path: Path, unit: str, factor: float) -> None:
    recording = _load(tmp_path, _others(metadata={"timeunit": unit}))
    assert recording.configurations[0].time_us == pytest.approx(2.1 * factor)


@pytest.mark.parametrize(
    ("invalidity", "status"),
    [
        ("compile", "compile_failed"),
        ("runtime", "runtime_error"),
        ("timeout", "timed_out"),
        ("correctness", "wrong_result"),
        ("constraints", "runtime_error"),
        ("something new", "runtime_error"),
    ],
)
def test_failures_keep_their_kind(tmp_path: Path, invalidity: str, status: str) -> None:
    document = _others()
    document["results"][0]["invalidity"] = invalidity
    record = _load(tmp_path, document).configurations[0]
    assert record.status == status
    assert record.message
    assert record.runtimes_us == ()


def test_a_time_measurement_stands_in_for_missing_runtimes(tmp_path: Path) -> None:
    document = _others()
    document["results"][0]["times"] = {}
    document["results"][0]["measurements"] = [{"name": "time", "value": 3.5, "unit": "ms"}]
    assert _load(tmp_path, document).configurations[0].runtimes_us == (3500.0,)


def _broken(path: str, value: Any) -> dict[str, Any]:
    document = _others()
    *way, last = path.split(".")
    place: Any = document
    for step in way:
        place = place[int(step)] if step.isdecimal() else place[step]
    place[last] = value
    return document


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("results", {}, "results: a list"),
        ("results", [], "results: the list is empty"),
        ("metadata", [], "metadata: an object"),
        ("metadata.timeunit", "fortnights", "metadata.timeunit: 'fortnights'"),
        ("results.1.times.runtimes", "fast", "results[1].times.runtimes: a list"),
        ("results.1.times.runtimes", [1, "x"], "results[1].times.runtimes[1]: 'x'"),
        ("results.2.configuration", None, "results[2].configuration: an object"),
        ("results.2.configuration", {"other": 1}, "results[2].configuration: its tunables"),
        ("results.2.configuration.layout", [1], "results[2].configuration.layout: [1]"),
        ("results.0.measurements", 3, "results[0].measurements: a list"),
        ("results.0.invalidity", 3, "results[0].invalidity: text"),
        ("schema_version", "2.0.0", "schema_version: T4 2.0.0 is newer"),
        (
            "metadata.rooftree",
            {"schema": 99},
            "metadata.rooftree.schema: 99 was written by a newer",
        ),
        ("metadata.rooftree", {"hardware": {}}, "metadata.rooftree.hardware.name"),
        ("metadata.rooftree", {"tunables": {}}, "metadata.rooftree.tunables"),
        ("metadata.rooftree", {"baseline": {"layout": [1]}}, "metadata.rooftree.baseline.layout"),
    ],
)
def test_the_place_of_a_mistake_is_named(tmp_path: Path, path: str, value: Any, says: str) -> None:
    with pytest.raises(InputError) as caught:
        _load(tmp_path, _broken(path, value))
    assert str(caught.value).startswith(f"space.json: {says}")
    assert "\n" not in str(caught.value)


def test_not_json_names_the_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"space\.json: not JSON at line 2 column"):
        _load(tmp_path, '{"results":\n [1, }')


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        load_recording(tmp_path / "none.json")


def test_every_truncation_of_a_gzip_is_an_input_error(tmp_path: Path) -> None:
    data = gzip.compress(json.dumps(_others()).encode())
    path = tmp_path / "cut.json.gz"
    for cut in range(0, len(data) - 1, 5):
        path.write_bytes(data[:cut])
        with pytest.raises(InputError, match=r"cut\.json\.gz"):
            load_recording(path)


def _ours() -> Recording:
    metrics = {"k": {m.SM: Metric(value=12.345, unit="%"), m.GRID: Metric(value=0.0)}}
    sass = {
        "k": SassFacts(
            instructions=7,
            registers=0,
            global_loads={"128": 2},
            opcodes=("EXIT", "LDG.E.128"),
            code_hash="sass-1",
        )
    }
    good = RecordedConfiguration(
        configuration={"BLOCK": 64, "FAST": 0},
        status="measured",
        runtimes_us=(10.25, 10.5, 11.125),
        host_us=12.5,
        compile_seconds=0.0123456,
        verification_rounds=3,
        max_error=0.0,
        worst_ratio=0.25,
        energy=Energy(energy_mj=5.5, low_mj=5.25, high_mj=6.0, window_s=1.0),
        metrics=metrics,
        sass=sass,
        timestamp="2026-01-02T03:04:05Z",
    )
    failed = tuple(
        RecordedConfiguration(
            configuration={"BLOCK": 128 + index, "FAST": 0}, status=status, message=f"why {status}"
        )
        for index, status in enumerate(
            ("compile_failed", "wrong_result", "runtime_error", "timed_out", "suspect")
        )
    )
    return Recording(
        origin="ours.json.gz",
        hardware=Hardware(name="GPU", driver="1.2", ceilings=Ceilings(copy_gb_per_s=4000)),
        recorded_on="2026-01-02",
        tunables={"FAST": (1, 0), "BLOCK": (64, 128, 129, 130, 131, 132, 4096)},
        configurations=(good, *failed),
        task_name="ours",
        task_id="task-0123",
        source_hash="source-0123",
        baseline={"BLOCK": 64, "FAST": 0},
    )


@pytest.mark.parametrize("name", ["ours.json", "ours.json.gz"])
def test_round_trip_is_exact_and_bytes_repeat(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    write_recording(path, _ours())
    written = path.read_bytes()
    loaded = load_recording(path)
    assert loaded == replace(_ours(), origin=name)
    assert list(loaded.tunables) == ["FAST", "BLOCK"]
    write_recording(path, loaded)
    assert path.read_bytes() == written


def test_our_file_reads_as_plain_t4(tmp_path: Path) -> None:
    path = tmp_path / "ours.json"
    write_recording(path, _ours())
    document = json.loads(path.read_text())
    result = document["results"][0]
    assert document["schema_version"] == "1.0.0"
    assert result["invalidity"] == "correct"
    assert result["objectives"] == ["time"]
    assert {"name": "time", "value": 10.5, "unit": "us"} in result["measurements"]
    assert all(set(entry) == {"name", "value", "unit"} for entry in result["measurements"])


def test_all_of_four_thousand_rows_are_read(tmp_path: Path) -> None:
    document = _others()
    document["results"] = [
        {
            **document["results"][0],
            "configuration": {"a": i, "b": i % 7, "c": "x"},
            "times": {"runtimes": [1.0 + i / 1e4 + j / 1e6 for j in range(32)]},
        }
        for i in range(4000)
    ]
    path = tmp_path / "large.json.gz"
    path.write_bytes(gzip.compress(json.dumps(document).encode(), compresslevel=1))
    found = load_recording(path).configurations
    assert [entry.configuration["a"] for entry in found] == list(range(4000))


@pytest.mark.parametrize("times", [[], [0], [-3.0, 0.0], [1e308], [1e-320]])
def test_numbers_that_are_no_times_make_no_measurement(tmp_path: Path, times: list[float]) -> None:
    record = _load(tmp_path, _broken("results.0.times.runtimes", times)).configurations[0]
    assert record.status == "runtime_error" and "no time" in record.message


@pytest.mark.parametrize("value", [-1, 1e308, "many", None])
def test_odd_facts_of_ours_do_not_break_a_replay(tmp_path: Path, value: Any) -> None:
    document = _others()
    names = ("host_us", "verification_rounds", "max_error", "worst_ratio")
    for result in document["results"]:
        result["times"]["compilation"] = value
        result["measurements"] = [{"name": f"rooftree.{name}", "value": value} for name in names]
    recording = _load(tmp_path, document)
    task = task_from_recording(recording)
    evaluator = ReplayEvaluator(task, recording)
    for record in recording.configurations:
        evaluator.evaluate(Candidate(tunables=record.configuration))


def test_a_file_is_parsed_again_once_it_has_changed(tmp_path: Path) -> None:
    first = _load(tmp_path, _others())
    assert load_recording(tmp_path / "space.json") is first
    changed = _load(tmp_path, _others(metadata={"timeunit": "microseconds"}))
    assert changed.configurations[0].runtimes_us == pytest.approx((2.0, 2.2, 2.1))


def test_a_file_that_unpacks_to_gigabytes_is_refused_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("profilers.recordings.t4.MOST_BYTES", 2**22)
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b" " * 2**28, compresslevel=1))
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="holds more than 4 MiB"):
            load_recording(path)
        assert tracemalloc.get_traced_memory()[1] < 2**25
    finally:
        tracemalloc.stop()
