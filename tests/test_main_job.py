"""The main job through all rooms, on the bundled recordings; what only the whole house can show."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from codegen.playbook import catalogue, playbook_for
from codegen.scripted.proposer import ScriptedProposer
from experiments.runs.tasks.files import bundled, find_task
from mcts.domain import CUDA, parse_launch_plan
from mcts.journal.record import Result
from mcts.loop.optimizer import Budget, Optimizer
from mcts.testing.toy import MemoryJournal
from microtools.advisor import RooflineAdvisor
from profilers.recordings.replay import ReplayEvaluator
from profilers.recordings.t4 import load_recording

ROOT = Path(__file__).parent.parent
GOLDEN = Path(__file__).parent / "data" / "golden" / "row_softmax_seed7.json"
METHOD_ID = re.compile(r'"((?:memory|compute|latency|parallelism)\.[a-z_]+)"')
TASKS = sorted(bundled())


def search(task: str, *, seed: int, evaluations: int, parallel: int = 1) -> Result:
    source = find_task(task)
    judge = ReplayEvaluator(source.task, load_recording(source.recordings[-1]), seed=seed)
    return Optimizer(
        task=judge.task,
        proposer=ScriptedProposer(),
        evaluator=judge,
        advisor=RooflineAdvisor(),
        journal=MemoryJournal(),
        budget=Budget(evaluations=evaluations),
        seed=seed,
        parallel=parallel,
    ).run()


def test_the_golden_tree_has_not_changed() -> None:
    """A change of search, proposer, tools or recording moves this tree: look before accepting.

    ``ROOFTREE_UPDATE_GOLDEN=1 pytest tests/test_main_job.py`` accepts the new one.
    """
    nodes = search("row_softmax", seed=7, evaluations=30).nodes
    tree = [
        [node.id, node.parent, node.kind, node.candidate and node.candidate.id] for node in nodes
    ]
    if os.environ.get("ROOFTREE_UPDATE_GOLDEN"):
        lines = ",\n".join(json.dumps(row) for row in tree)
        GOLDEN.write_text(f"[\n{lines}\n]\n")
    assert tree == json.loads(GOLDEN.read_text())


@pytest.mark.parametrize("task", TASKS)
def test_forty_trials_come_close_to_the_best_recorded_variant(task: str) -> None:
    best = load_recording(find_task(task).recordings[-1]).summary().best_speedup
    result = search(task, seed=7, evaluations=40)
    assert best is not None and result.best.speedup is not None
    assert result.best.speedup >= 0.9 * best


def test_guidance_reaches_the_proposals() -> None:
    result = search("row_softmax", seed=7, evaluations=30)
    assert result.baseline.guidance is not None and result.baseline.guidance.findings
    reasons = [node.candidate.rationale for node in result.nodes if node.candidate]
    assert any("suggests" in reason for reason in reasons)


@pytest.mark.parametrize("task", TASKS)
def test_a_bundled_recording_is_of_this_task_and_says_where_it_was_made(task: str) -> None:
    source = find_task(task)
    recording = load_recording(source.recordings[-1])
    assert recording.task_id == source.task.id
    facts = recording.summary()
    assert facts.valid >= 200
    hardware = recording.hardware
    assert "H200" in hardware.name and hardware.driver and hardware.clocks and hardware.ceilings
    assert recording.recorded_on
    measured = [entry for entry in recording.configurations if entry.measured]
    assert all(entry.runtimes_us for entry in measured)
    assert all(entry.metrics and entry.sass for entry in measured)
    assert all(entry.message for entry in recording.configurations if not entry.measured)


def test_every_method_that_is_spoken_of_stands_in_the_playbook() -> None:
    known = set(playbook_for(CUDA, "9.0"))
    for name in bundled():
        source = find_task(name).task.baseline.source
        for tunable, choice in parse_launch_plan(source).tunables.items():
            assert set(choice.methods) <= known, f"{name}: {tunable}"
    spoken = {
        method
        for file in (ROOT / "microtools").rglob("*.py")
        for method in METHOD_ID.findall(file.read_text())
    }
    assert spoken and spoken <= set(catalogue())


def test_importing_mcts_imports_nothing_heavy() -> None:
    code = (
        "import sys, mcts, mcts.loop.optimizer, mcts.ports\n"
        "heavy = {'litellm', 'cuda', 'torch', 'numpy', 'scipy'} & set(sys.modules)\n"
        "sys.exit(f'imported: {heavy}' if heavy else 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
