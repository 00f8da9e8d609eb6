"""KernelBench problem files on the command line: tasks, policies, and what is wrong with them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from experiments.runs.folders.folder import create
from experiments.runs.options.config import RunConfig
from experiments.runs.options.option_conflicts import check_proposer
from experiments.runs.tasks.files import find_task
from experiments.runs.tasks.problems import problem_task
from mcts.domain import Policy
from mcts.errors import InputError
from mcts.options import JudgingOptions, SearchOptions
from tests.support.commands import refused, rooftree

PROBLEM = '''
import torch.nn as nn

class Model(nn.Module):
    """Doubles what it is given.

    And no more.
    """
    def forward(self, x):
        return 2 * x

def get_inputs():
    return [1]

def get_init_inputs():
    return []
'''


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    path = tmp_path / "7_Doubles_It_.py"
    path.write_text(PROBLEM)
    return path


def test_a_problem_file_is_a_task(problem: Path) -> None:
    source = find_task(str(problem))
    assert source.problem == problem
    task = source.task
    assert (task.name, task.dialect) == ("7_Doubles_It", "kernelbench")
    assert task.summary == "Doubles what it is given."
    assert task.reference == PROBLEM
    assert task.baseline.source.endswith("ModelNew = Model\n")


def test_a_policy_is_part_of_the_task(problem: Path) -> None:
    plain = find_task(str(problem)).task
    judging = JudgingOptions(policy=["libraries=forbidden", "weights=frozen"])
    strict = find_task(str(problem), judging.policy).task
    assert strict.policy == Policy(libraries="forbidden", weights="frozen")
    assert strict.id != plain.id


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("class Model(:", "line 1"),
        (PROBLEM.replace("class Model(", "class Net("), "no Model"),
        (PROBLEM.replace("def get_inputs", "def inputs"), "no get_inputs"),
        (PROBLEM.replace("def get_init_inputs", "def init"), "no get_init_inputs"),
    ],
)
def test_a_file_that_is_no_problem_is_refused(tmp_path: Path, text: str, word: str) -> None:
    path = tmp_path / "problem.py"
    path.write_text(text)
    with pytest.raises(InputError, match=word):
        problem_task(text, path, Policy())
    refused(rooftree("evaluate", path))


@pytest.mark.parametrize("pair", ["speed=high", "weights", "weights=melted", "precision=fp8"])
def test_an_unknown_policy_is_refused(problem: Path, pair: str) -> None:
    refused(rooftree("evaluate", problem, "--policy", pair), "--policy")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--policy", "weights=frozen"), "KernelBench problem files"),
        (("--baseline", "fastest"), "eager or compile"),
        (("--evaluator", "dask"), "dask:ADDRESS or dask:FILE.json"),
        (("--evaluator", "dusk:DIR"), "did you mean dask"),
        (("--evaluator", "spool:DIR"), "evaluator spool is no more: use dask:ADDRESS"),
    ],
)
def test_options_that_do_not_fit_are_refused(words: tuple[str, ...], said: str) -> None:
    refused(rooftree("evaluate", "row_softmax", *words), said)


def test_an_unknown_objective_names_the_known_ones() -> None:
    done = rooftree("optimize", "row_softmax", "--objective", "beauty")
    refused(done, "time, energy or edp")


@pytest.mark.parametrize("words", [(), ("--evaluator", "dask:scheduler.json")])
def test_the_scripted_proposer_is_refused_for_a_problem(
    problem: Path, words: tuple[str, ...]
) -> None:
    done = rooftree("optimize", problem, *words)
    refused(done, "error: the scripted proposer writes no code")


def test_models_and_plug_ins_may_write_pytorch(problem: Path) -> None:
    task = find_task(str(problem)).task
    check_proposer(task, "mine")
    check_proposer(task, "llm")
    with pytest.raises(InputError, match="rooftree evaluate"):
        check_proposer(task, "scripted")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("record", "PROBLEM"), "recordings are of tunables; a PyTorch candidate has none"),
        (("evaluate", "PROBLEM", "mine.cu"), "mine.cu does not exist"),
        (("evaluate", "PROBLEM", "--set", "A=1"), "--set is for tunables of .cu candidates"),
        (("evaluate", "PROBLEM", "mine.py", "--set", "A=1"), "--set is for tunables of .cu"),
        (("evaluate", "PROBLEM", "--evaluator", "replay"), "measured with --evaluator gpu"),
    ],
)
def test_an_option_that_a_problem_lacks_is_refused(
    problem: Path, words: tuple[str, ...], said: str
) -> None:
    done = rooftree(*(problem if word == "PROBLEM" else word for word in words))
    refused(done, said)
    assert "rooftree record" not in done.stderr


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="PyTorch is here")
def test_without_pytorch_the_extra_is_named(problem: Path) -> None:
    refused(rooftree("evaluate", problem, problem), "rooftree[torch]")


def test_a_run_keeps_its_problem_and_its_policy(problem: Path, tmp_path: Path) -> None:
    source = find_task(str(problem), Policy(weights="frozen"))
    config = RunConfig(
        rooftree="0", task=source.given, task_name=source.task.name,
        judging=JudgingOptions(evaluator="gpu", policy=source.task.policy),
        search=SearchOptions(proposer="llm"),
    )  # fmt: skip
    folder = create(source, config, out=tmp_path / "run")
    problem.unlink()
    kept = folder.task(folder.config)
    assert kept.task.id == source.task.id
    assert kept.task.name == source.task.name


@pytest.mark.parametrize(
    "code",
    ["x = " + "-" * 200_000 + "1", "x = " + "(" * 500, "x = a" + ".b" * 100_000,
     "x = " + "9" * 5000,
     "x = '\0'", "x = " + "f(" * 50_000],
    ids=["minus", "parentheses", "attributes", "digits", "null", "calls"],
)  # fmt: skip
def test_a_problem_past_pythons_parser_is_refused_in_a_line(problem: Path, code: str) -> None:
    problem.write_text(PROBLEM + code + "\n")
    refused(rooftree("optimize", problem), problem.name)


SEVERAL = """
WORKLOADS = {weights}


class Model:
    pass


def get_inputs({argument}):
    return []


def get_init_inputs():
    return []
"""


def several(weights: object, argument: str = 'workload="a"') -> str:
    return SEVERAL.format(weights=weights, argument=argument)


def test_a_problem_file_may_name_several_workloads() -> None:
    task = problem_task(several({"a": 1, "b": 0.5, "c": 0}), Path("x.py"), Policy())
    assert [(one.name, one.weight) for one in task.workloads] == [("a", 1), ("b", 0.5), ("c", 0)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (several("dict(a=1)"), "is a dictionary of weights"),
        (several("{}"), "is a dictionary of weights"),
        (several({"a": 1}, ""), "get_inputs takes such a name"),
        (several({"a": -1}), "WORKLOADS: weight"),
        (several({"a": 0}), "nothing would be timed"),
        (several({str(n): 1 for n in range(9)}), "9 workloads, 8 at most"),
    ],
)
def test_workloads_that_cannot_be_read_are_told(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        problem_task(text, Path("x.py"), Policy())
