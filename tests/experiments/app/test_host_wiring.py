"""From a command line to a host candidate: what is recognised, kept for resume, and refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from codegen.scripted.proposer import ScriptedProposer
from experiments.app.candidates import candidates_of, measured_against
from experiments.runs.folders import folder as rundir
from experiments.runs.options.config import RunConfig
from experiments.runs.options.option_conflicts import check_evaluator, check_proposer
from experiments.runs.tasks.files import find_task
from experiments.runs.wiring.headers import include_folders
from mcts.domain import Evaluation, Guidance, parse_host_plan
from mcts.errors import InputError
from mcts.options import JudgingOptions, SearchOptions
from mcts.ports import Move, ProposalRequest
from tests.support.host_sources import PROBLEM, source


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    path = tmp_path / "columns.py"
    path.write_text(PROBLEM)
    return path


def test_a_cu_file_answers_a_problem_beside_a_py_file(problem: Path, tmp_path: Path) -> None:
    task = find_task(str(problem)).task
    host, python = tmp_path / "mine.cu", tmp_path / "mine.py"
    host.write_text(source())
    python.write_text("class ModelNew: ...")
    named = candidates_of(task, [host, python], [])
    assert [dict(candidate.tunables) for _, candidate in named] == [
        {"UNROLL": 1, "SCHEDULE": "plain"},
        {},
    ]
    ((_, chosen),) = candidates_of(task, [host], ["UNROLL=2"])
    assert chosen.tunables == {"UNROLL": 2, "SCHEDULE": "plain"}


def test_a_candidate_may_take_the_baselines_place(problem: Path, tmp_path: Path) -> None:
    source_of = find_task(str(problem))
    host, python = tmp_path / "mine.cu", tmp_path / "mine.py"
    host.write_text(source())
    python.write_text("class ModelNew: ...")
    begun = measured_against(source_of, host)
    assert begun.task.baseline.source == source() and begun.task.space.default()["UNROLL"] == 1
    other = measured_against(source_of, python)
    assert other.task.baseline.source == "class ModelNew: ..." and not other.recordings
    assert len({source_of.task.id, begun.task.id, other.task.id}) == 3
    assert other.task.reference == source_of.task.reference


def test_a_file_that_is_no_host_candidate_is_refused_by_name(problem: Path, tmp_path: Path) -> None:
    task = find_task(str(problem)).task
    other = tmp_path / "other.cu"
    other.write_text('extern "C" __global__ void k() {}')
    with pytest.raises(InputError, match=r"other\.cu: a \.cu for a KernelBench problem begins"):
        candidates_of(task, [other], [])
    other.write_text(source().replace('"stream"]', '"rest"]', 1))
    with pytest.raises(InputError, match=r"other\.cu: launch plan: .*stream"):
        candidates_of(task, [other], [])
    with pytest.raises(InputError, match="--set is for tunables"):
        candidates_of(task, [tmp_path / "mine.py"], ["UNROLL=2"])


def test_the_dialect_makes_another_task_of_the_same_problem(problem: Path) -> None:
    plain, host = find_task(str(problem)).task, find_task(str(problem), dialect="host").task
    assert (plain.dialect, host.dialect) == ("kernelbench", "host")
    assert plain.id != host.id
    assert plain.reference == host.reference
    with pytest.raises(InputError, match="--dialect is for KernelBench"):
        find_task("row_softmax", dialect="host")


def test_a_run_may_begin_with_a_host_candidate_and_search_its_tunables(
    problem: Path, tmp_path: Path
) -> None:
    kernel = tmp_path / "mine.cu"
    kernel.write_text(source(head='where = ["UNROLL == 1 or eps > 0", "UNROLL < 3"]'))
    found = find_task(str(problem), kernel=kernel)
    assert found.task.dialect == "host"
    assert found.task.baseline.tunables == {"UNROLL": 1, "SCHEDULE": "plain"}
    assert found.task.space.size == 4
    assert found.task.space.where == ("UNROLL < 3",)
    check_proposer(found.task, "scripted")
    with pytest.raises(InputError, match="scripted proposer"):
        check_proposer(find_task(str(problem), dialect="host").task, "scripted")
    kernel.write_text("int x;")
    with pytest.raises(InputError, match=r"mine\.cu: --kernel takes a \.cu that begins with"):
        find_task(str(problem), kernel=kernel)
    with pytest.raises(InputError, match="--kernel is for KernelBench"):
        find_task("row_softmax", kernel=kernel)


def test_a_resumed_run_begins_with_the_same_kernel(problem: Path, tmp_path: Path) -> None:
    kernel = tmp_path / "mine.cu"
    kernel.write_text(source())
    found = find_task(str(problem), kernel=kernel)
    config = RunConfig(
        rooftree="0", task=str(problem), task_name=found.task.name,
        judging=JudgingOptions(evaluator="gpu"), search=SearchOptions(proposer="scripted"),
    )  # fmt: skip
    folder = rundir.create(found, config, out=tmp_path / "run")
    kernel.write_text("changed since")
    assert folder.task(folder.config).task == found.task


def test_the_scripted_proposer_moves_its_tunables(problem: Path, tmp_path: Path) -> None:
    kernel = tmp_path / "mine.cu"
    kernel.write_text(source())
    task = find_task(str(problem), kernel=kernel).task
    judged = Evaluation(candidate_id=task.baseline.id, status="runtime_error", message="-")
    request = ProposalRequest(
        task=task,
        parent=task.baseline,
        evaluation=judged,
        guidance=Guidance(),
        move=Move("improve", 0),
        tried=frozenset({task.baseline.id}),
    )
    proposed = ScriptedProposer().propose(request).candidate
    assert proposed.source == task.baseline.source
    assert proposed.tunables != task.baseline.tunables
    parse_host_plan(proposed.source).values(proposed.tunables)


def test_includes_are_refused_without_host_code(problem: Path) -> None:
    gpu, other = (JudgingOptions(evaluator=name, includes=("x",)) for name in ("gpu", "mine"))
    assert gpu.includes == (Path("x").absolute(),), "a run may be resumed from elsewhere"
    check_evaluator(find_task(str(problem)).task, gpu)
    with pytest.raises(InputError, match="--include"):
        check_evaluator(find_task("row_softmax").task, gpu)
    with pytest.raises(InputError, match="--include"):
        check_evaluator(find_task(str(problem)).task, other)


def test_a_cutlass_tree_stands_for_its_header_folders(tmp_path: Path) -> None:
    tree = tmp_path / "cutlass"
    for inner in ("include/cutlass", "tools/util/include"):
        (tree / inner).mkdir(parents=True)
    (tree / "include/cutlass/version.h").write_text("")
    plain = tmp_path / "plain"
    plain.mkdir()
    assert include_folders([tree, plain]) == (
        tree / "include", tree / "tools/util/include", plain,
    )  # fmt: skip
    wheel = tmp_path / "wheel" / "cutlass_library" / "source" / "include" / "cutlass"
    wheel.mkdir(parents=True)
    (wheel / "version.h").write_text("")
    assert include_folders([tmp_path / "wheel"]) == (wheel.parent,)
    with pytest.raises(InputError, match="not a folder"):
        include_folders([tmp_path / "absent"])
