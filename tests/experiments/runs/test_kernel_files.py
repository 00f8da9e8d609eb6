"""A kernel's file has its values, for compiling, judging and inspecting it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from codegen.plan_text import canonical_source, file_text, stands_alone, values_of
from experiments.runs.tasks.files import bundled, find_task, load_task
from experiments.views import closing, summary
from mcts.domain import Candidate, dialect_named, parse_host_plan, parse_launch_plan
from tests.experiments.conftest import KERNEL, make_task
from tests.support.commands import completed, json_of, rooftree
from tests.support.deliveries import bundled_variants, delivery_of

HOST = """/* rooftree
launcher = "scale"
args = ["y", "stream"]
[[output]]
name = "y"
shape = [16]
[tunables]
UNROLL = { values = [1, 2], default = 1 }
SCHEDULE = { values = ["plain", "other"], default = "plain" }
*/
extern "C" int scale(float* y, cudaStream_t stream) { return 0; }
"""
RECORDING = find_task("row_softmax").recordings[-1]


def variant(source: str = KERNEL, **values: Any) -> Candidate:
    tunables = parse_launch_plan(source).space.default()
    return Candidate(source=source, tunables={**tunables, **values})


@pytest.mark.parametrize("name", list(bundled()))
def test_a_variants_file_has_its_values_and_is_recognised(name: str) -> None:
    for delivery in bundled_variants(name, 3):
        candidate, text = delivery.candidate, file_text(delivery.candidate)
        assert parse_launch_plan(text).space.default() == candidate.tunables
        assert canonical_source(delivery.task, text) == delivery.task.baseline.source
        assert stands_alone(candidate)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("values = [1, 2, 4]", "values = [1, 4]"),
        ("2 * x[i]", "x[i] + x[i]"),
        ("VEC =", "WIDTH ="),
        ('"memory.vectorized_loads"', '"memory.coalesced_access"'),
    ],
)
def test_a_file_that_differs_in_anything_else_is_another_kernel(old: str, new: str) -> None:
    text = file_text(variant(BLOCK=256))
    assert old in text and canonical_source(make_task(), text) == KERNEL
    other = text.replace(old, new)
    assert canonical_source(make_task(), other) == other


def test_a_file_is_recognised_whatever_the_ends_of_its_lines() -> None:
    text = file_text(variant(VEC=4)).replace("\n", " \r\n")
    assert canonical_source(make_task(), text) == KERNEL


def test_a_plan_whose_defaults_cannot_be_replaced_needs_set_options() -> None:
    source = KERNEL.replace("UNROLL = {", "'UNROLL' = {")
    assert parse_launch_plan(source).space.default() == parse_launch_plan(KERNEL).space.default()
    candidate = variant(source, UNROLL=4)
    assert file_text(candidate) == source and not stands_alone(candidate)
    assert stands_alone(variant(source)), "the defaults themselves"


def test_a_host_candidates_file_has_its_values_too() -> None:
    candidate = Candidate(source=HOST, tunables={"UNROLL": 2, "SCHEDULE": "other"})
    text = file_text(candidate)
    assert parse_host_plan(text).space.default() == candidate.tunables
    task = make_task().model_copy(
        update={"dialect": dialect_named("host"), "baseline": host_baseline()}
    )
    assert canonical_source(task, text) == HOST and stands_alone(candidate)


def host_baseline() -> Candidate:
    return Candidate(source=HOST, tunables=parse_host_plan(HOST).space.default())


@pytest.mark.parametrize("source", ["", "import torch\n", "__global__ void k() {}"])
def test_a_source_without_a_plan_stays_as_it_is(source: str) -> None:
    candidate = Candidate(source=source)
    assert file_text(candidate) == source == canonical_source(make_task(), source)
    assert stands_alone(candidate) and values_of(candidate) == {}


def written(candidate: Candidate, folder: Path) -> tuple[str, list[str]]:
    """`best/kernel.cu` of a run with this best, and what the run says at its end."""
    delivery = delivery_of(find_task("row_softmax"), candidate)
    outputs = summary.write_outputs(folder, delivery.facts, delivery.result)
    assert outputs.best_source is not None
    lines = closing.closing_words(delivery.facts, delivery.result, outputs, folder)
    return outputs.best_source.read_text(), [line for line in lines if line.startswith("kernel ")]


def test_the_best_kernel_of_a_run_runs_as_it_stands(tmp_path: Path) -> None:
    text, (line,) = written(variant(BLOCK=256, VEC=4), tmp_path)
    assert parse_launch_plan(text).space.default() == {"BLOCK": 256, "VEC": 4, "UNROLL": 1}
    assert line.split() == ["kernel", str(tmp_path / "best" / "kernel.cu")]


def test_a_kernel_that_needs_values_is_shown_with_set_options(tmp_path: Path) -> None:
    source = KERNEL.replace("UNROLL = {", "'UNROLL' = {")
    text, (line,) = written(variant(source, UNROLL=4), tmp_path)
    assert text == source and line.endswith("--set BLOCK=64 --set VEC=1 --set UNROLL=4")


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "run"
    completed("optimize", "row_softmax", "--evaluator", "replay", "--out", out,
                    "--evaluations", 25)  # fmt: skip
    return out


def judged(*words: object) -> dict[str, Any]:
    (row,) = json_of("evaluate", "row_softmax", "--evaluator", "replay", *words)["candidates"]
    return dict(row)


def test_evaluate_recognises_the_best_kernel(run_dir: Path) -> None:
    best = json.loads((run_dir / "best" / "candidate.json").read_text())
    settings = [
        word for name, value in best["tunables"].items() for word in ("--set", f"{name}={value}")
    ]
    row = judged(run_dir / "best" / "kernel.cu")
    assert row["id"] == best["candidate_id"] and row["tunables"] == best["tunables"]
    assert row["speedup"] == judged(*settings)["speedup"] > 2


def test_values_can_be_set_over_those_of_the_file(run_dir: Path) -> None:
    row = judged(run_dir / "best" / "kernel.cu", "--set", "FAST=0")
    best = json.loads((run_dir / "best" / "candidate.json").read_text())
    assert row["tunables"] == {**best["tunables"], "FAST": 0}


def test_evaluate_names_the_values_that_are_not_the_tasks_own(run_dir: Path) -> None:
    folder = find_task("row_softmax").folder
    assert folder is not None
    usual = load_task(folder).baseline.tunables
    best = json.loads((run_dir / "best" / "candidate.json").read_text())["tunables"]
    files = (run_dir / "best" / "kernel.cu", folder / "kernel.cu")
    done = rooftree("evaluate", "row_softmax", "--evaluator", "replay", *files)
    changed = [f"{name}={value}" for name, value in best.items() if usual[name] != value]
    said = " ".join(done.stdout.split())  # a narrow terminal breaks the line
    assert changed and f" with {', '.join(changed)} " in said
    assert said.count(" with ") == 1
    named = rooftree("evaluate", "row_softmax", "--evaluator", "replay", "--set", "BLOCK=256")
    assert "BLOCK=256" in named.stdout and "  with" not in named.stdout


def test_inspect_finds_what_was_recorded_of_it(
    run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("experiments.inspect.inspecting.gpu_problem", lambda _device: "no GPU")
    kernel = run_dir / "best" / "kernel.cu"
    found = json_of("inspect", kernel, "--task", "row_softmax", "--replay", RECORDING)
    best = json.loads((run_dir / "best" / "candidate.json").read_text())
    time_us = best["evaluation"]["timing"]["median_us"]
    assert found["replayed"] and found["time_us"] == pytest.approx(time_us, rel=0.02)
