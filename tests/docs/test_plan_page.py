"""The page on plans and tasks names every key with its default, and its example works."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from experiments.app.checking import check_task
from experiments.runs.tasks.files import TaskFile, load_task
from mcts.domain import Buffer, Cost, KernelSpec, LaunchPlan, Tolerance, Tunable, Workload
from mcts.domain.launch_plan import Launch, ScalarArgument, TensorMapArgument, Workspace

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "plan.md").read_text()
MODELS: list[tuple[str, type[BaseModel], set[str]]] = [
    ("TOML in the comment", LaunchPlan, set()),
    ("A kernel that belongs to no task", KernelSpec, set(LaunchPlan.model_fields)),
    ("**A tunable**", Tunable, set()),
    ("**A workspace**", Workspace, set()),
    ("**A launch**", Launch, set()),
    ("**An argument**", ScalarArgument, set()),
    ("**A tensor map**", TensorMapArgument, set()),
    ("## The task", TaskFile, set()),
    ("**A buffer:**", Buffer, set()),
    ("**A workload:**", Workload, set()),
    ("**Cost:**", Cost, set()),
    ("**Tolerance:**", Tolerance, set()),
]
IN_WORDS = {"none", "empty", "the first", "always", "unknown", "as below", "the buffer's", ""}
"""What stands for a default that is no single value, or for none."""


def rows(heading: str) -> dict[str, str]:
    """Keys and defaults of the table that follows."""
    behind = PAGE[PAGE.index(heading) :]
    table = behind[behind.index("| key") :].split("\n\n")[0]
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]
    return {cell[0].strip("`"): cell[2].strip("`") for cell in cells}


@pytest.mark.parametrize(
    ("heading", "model", "besides"), MODELS, ids=[model.__name__ for _, model, _ in MODELS]
)
def test_every_key_is_there_with_its_default(
    heading: str, model: type[BaseModel], besides: set[str]
) -> None:
    told = rows(heading)
    assert set(told) == set(model.model_fields) - besides
    for name, default in told.items():
        known: Any = model.model_fields[name].default
        if default not in IN_WORDS:
            assert known is not PydanticUndefined, name
            told_as = str(float(default)) if isinstance(known, float) else default
            assert told_as == (str(known).lower() if isinstance(known, bool) else str(known)), name
        else:
            simple = isinstance(known, str | int | float) and not isinstance(known, bool)
            assert not simple or known == "" or known is None, f"{name} has the default {known}"


def example(folder: Path) -> Path:
    part = PAGE[PAGE.index("## An example") : PAGE.index("## The plan")]
    blocks = re.findall(r"```(toml|cuda|python)\n(.*?)```", part, re.DOTALL)
    names = {"toml": "task.toml", "cuda": "kernel.cu", "python": "reference.py"}
    for language, text in blocks:
        (folder / names[language]).write_text(text)
    assert len(blocks) == 3
    return folder


@pytest.mark.nvrtc
def test_the_example_is_right_as_far_as_can_be_said_without_a_gpu(tmp_path: Path) -> None:
    task = load_task(example(tmp_path))
    found = list(check_task(task, variants=9, arch="sm_90a", seed=0, say=lambda _: None))
    wrong = [one for one in found if one.level == "problem"]
    assert not wrong
    assert "9 combinations" in found[0].detail
