"""Suites of KernelBench problems whose model looks things up in a CUTLASS tree, over HTTP."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from experiments.cli.commands import kernelbench
from experiments.runs.folders.folder import RunFolder
from experiments.runs.folders.journal import read_events
from experiments.runs.options.config import read_config
from experiments.runs.options.request import RunRequest
from experiments.text.lookups import lookups_of
from mcts.journal.record import read_result
from mcts.options import JudgingOptions
from tests.support import suite_world
from tests.support.commands import refused, rooftree
from tests.support.needs import needs_litellm
from tests.support.openai_server import Answer, OpenAiServer
from tests.support.shelf import blocks
from tests.support.suite_world import make_level, problem_text, run_suite

LIKE = Path(__file__).parents[2] / "data" / "cutlass_like"
MODEL_NEW = '''# kind: 2.0
import torch
from torch import nn
from codegen.torch_cuda import compile_cuda

kernels = compile_cuda(r"""extern "C" __global__ void copy(const float* x, float* y) {
    y[0] = x[0]; }""")


class ModelNew(nn.Module):
    def forward(self, x):
        return kernels.copy(x)
'''
pytestmark = needs_litellm


@pytest.fixture(autouse=True)
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    suite_world.install(monkeypatch)
    for name in ("DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-these-tests-alone")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return Path(shutil.copytree(LIKE, tmp_path / "tree"))


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    texts = {f"{number}_P.py": problem_text(also=f"problem {number}") for number in (1, 2, 3)}
    return make_level(tmp_path / "kb", texts)


def looks_then_writes(body: dict[str, Any]) -> Answer:
    """A look-up first, then a variant."""
    if len(body["messages"]) == 2:
        return blocks(("definition", {"symbol": "SM90_TMA_LOAD"}))
    return f"## Plan\n\nAs the library does.\n\n```python\n{MODEL_NEW}```\n"


def run(root: Path, out: Path, *more: object) -> Result:
    return run_suite(root, out, "--budget", 1, "--evaluator", "paper", *more)


def test_the_model_of_every_problem_looks_into_the_library(
    checkout: Path, tree: Path, tmp_path: Path
) -> None:
    out = tmp_path / "suite"
    options = ("--model", "openai/x", "--library", f"cutlass={tree}", "--lookups", 3)
    with OpenAiServer([looks_then_writes]) as server:
        where = ("--api-base", server.url)
        done = run(checkout, out, *options, *where, "--problems", "1-2")
        assert done.exit_code == 0, done.output
        for key in ("level1_1", "level1_2"):
            config = read_config(RunFolder(out / "runs" / key).path / "config.toml")
            assert config.library is not None
            assert (config.library.version, config.model.lookups) == ("9.1.3", 3)
            assert config.model.lookup_protocol == "text", "decided when the search began"
            result = read_result(read_events(out / "runs" / key))
            (looked,) = lookups_of(result.nodes[1].usage)
            assert "SM90_TMA_LOAD" in looked.question and not looked.refused
            kernel = (out / "kernels" / f"{key}.py").read_text()
            assert "class ModelNew" in kernel and "from codegen" not in kernel
        settings = json.loads((out / "suite.json").read_text())["settings"]
        assert settings["library"].startswith("CUTLASS 9.1.3, sha256 ")
        asked = len(server.requests)
        assert run(checkout, out, *options, *where, "--problems", "1-2").exit_code == 0
        assert len(server.requests) == asked

        less = run(checkout, out, *options[:-1], 2, *where)
        assert less.exit_code == 2 and "was begun with lookups = 3, not 2" in less.stderr
        none = run(checkout, out, *options[:2], *where)
        assert none.exit_code == 2 and "was begun with library = 'CUTLASS 9.1.3" in none.stderr
        edited = tree / "include/cute/arch/copy_sm90_tma.hpp"
        edited.write_bytes(edited.read_bytes().swapcase())
        other = run(checkout, out, *options, *where)
        assert other.exit_code == 2 and "library = 'CUTLASS 9.1.3" in other.stderr
        assert len(server.requests) == asked, "figures of two libraries belong in no one table"


def test_a_resumed_search_keeps_its_lookup_protocol(
    checkout: Path, tree: Path, tmp_path: Path
) -> None:
    out = tmp_path / "suite"
    options = ("--model", "openai/x", "--library", f"cutlass={tree}", "--problems", 1)
    quick = ("--llm-retries", 0, "--llm-timeout", 5)
    with OpenAiServer([blocks(("definition", {"symbol": "SM90_TMA_LOAD"})), 503]) as server:
        assert run(checkout, out, *options, *quick, "--api-base", server.url).exit_code == 1
    with OpenAiServer([looks_then_writes]) as server:
        done = run(checkout, out, *options, *quick, "--api-base", server.url)
    assert done.exit_code == 0, done.output
    config = read_config(out / "runs" / "level1_1" / "config.toml")
    assert config.model.lookup_protocol == "text"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--library", "cutlass=/nowhere"), "no CUTLASS tree is there"),
        (("--lookups", "3"), "--lookups does nothing without --library"),
        (("--lookup-tokens", "300"), "--lookup-tokens does nothing without --library"),
        (("--dialect", "host"), "hands over each best kernel as a ModelNew"),
        (("--dialect", "cuda"), "--dialect 'cuda': kernelbench or host"),
        (("--include", "{tree}"), "--include is for --evaluator gpu and dask:"),
    ],
)
def test_an_unfit_option_is_refused_before_anything_is_written(
    checkout: Path, tree: Path, tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    out = tmp_path / "suite"
    given = [option.format(tree=tree) for option in options]
    done = run(checkout, out, "--model", "openai/x", *given)
    refused(done, words)
    assert not out.exists()


def test_the_only_dialect_of_a_suite_may_be_named(checkout: Path, tmp_path: Path) -> None:
    out = tmp_path / "suite"
    suite = run(checkout, out, "--dialect", "kernelbench", "--proposer", "canned")
    assert suite.exit_code == 0, suite.output


def test_help_names_the_options_of_look_ups() -> None:
    shown = rooftree("kernelbench", "run", "--help", columns=200)
    for option in ("--library", "--lookups", "--lookup-tokens", "--lookup-protocol"):
        assert option in shown.output
    assert "--dialect" not in shown.output and "--include" in shown.output


def test_include_folders_are_a_suites_settings_where_they_are_given(tmp_path: Path) -> None:
    without, named = (
        RunRequest(task="x", judging=JudgingOptions(includes=folders))
        for folders in ((), (tmp_path,))
    )
    settings = kernelbench._settings(without, compare=False)
    assert "includes" not in settings, "a suite begun before can be gone on with"
    found = kernelbench._settings(named, compare=False)
    assert found == {**settings, "includes": [str(tmp_path)]}
