"""Configurations in format 1 are read as if they had been written today."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import tomli_w

from experiments.runs.options.config import CONFIG_FILE, CONFIG_FORMAT, RunConfig, read_config
from experiments.runs.options.first_format import flat, nested
from tests.support.commands import completed, json_of

REAL = Path(__file__).parents[2] / "data" / "configs" / "format_1.toml"
"""Of a search that was run with a model in November 2026."""


def test_a_real_configuration_is_read_in_full() -> None:
    config = read_config(REAL)
    assert config.format == CONFIG_FORMAT
    assert config.task == "KernelBench/KernelBench/level1/74_conv_transposed_1D_dilated.py"
    assert config.run_id == "1b7f81e991c946c5ac25c75b99db7066"
    assert (config.judging.evaluator, config.judging.compiled) == ("gpu", False)
    assert config.judging.policy.weights == "mutable"
    assert (config.search.proposer, config.search.parallel) == ("llm", 2)
    assert config.search.algorithm.constants == {"expected_improvement": 0}, "its name of now"
    assert config.memory is None
    assert (config.limits.evaluations, config.limits.cost_usd) == (12, None)
    assert (config.model.name, config.model.timeout_s) == ("openai/l1p74", 3600.0)
    assert config.model.cache is None, "the one in the run folder"


def test_a_real_configuration_is_written_back_in_format_1() -> None:
    table = tomllib.loads(REAL.read_text().replace("leaps", "expected_improvement"))
    table["policy"]["inputs"] = "drawn"  # there was nothing else
    again = flat(read_config(REAL).model_dump(mode="json"))
    assert {name: again[name] for name in table if name != "asking"} == {
        name: value for name, value in table.items() if name != "asking"
    }
    assert table["asking"].items() <= again["asking"].items()


def test_every_option_has_its_place() -> None:
    old = {
        "format": 1, "rooftree": "0", "task": "t", "task_name": "t", "evaluator": "spool:/d",
        "proposer": "llm", "search": "beam", "evaluations": 3, "minutes": 2.0, "max_cost_usd": 1.5,
        "max_tokens": 10, "max_gpu_minutes": 4.0, "memory": "/m", "compiled": True,
        "wait_minutes": 5.0, "dialect": "host", "includes": ["/a"], "model": "m",
        "asking": {"cache": "/c", "lookups": 3, "record": "/r"}, "tool_weights": {"x": 0.5},
        "library": {"name": "cutlass", "path": "/p", "version": "4.2"},
        "search_settings": {"width": 2},
    }  # fmt: skip
    config = RunConfig.model_validate(nested(old))
    assert config.judging.compiled and config.judging.includes == (Path("/a"),)
    assert config.model.library == "cutlass=/p" and config.model.lookups == 3
    assert config.memory == Path("/m")
    again = flat(config.model_dump(mode="json"))
    assert old.keys() - {"asking", "library"} <= {name for name in old if again[name] == old[name]}


def test_a_run_in_format_1_is_resumed_to_the_same_tree(toy_folder: Path, tmp_path: Path) -> None:
    old, whole = tmp_path / "old", tmp_path / "whole"
    start = ("optimize", toy_folder, "--evaluator", "replay", "--seed", 3, "--search", "beam")
    completed(*start, "--evaluations", 4, "--out", old)
    wanted = json_of(*start, "--evaluations", 9, "--out", whole)
    config = flat(read_config(old / CONFIG_FILE).model_dump(mode="json"))
    plain = {name: value for name, value in config.items() if value is not None}
    (old / CONFIG_FILE).write_text(tomli_w.dumps({**plain, "asking": {}}))
    shutil.rmtree(old / "best")
    assert json_of("resume", old, "--evaluations", 9)["tree_digest"] == wanted["tree_digest"]
    assert read_config(old / CONFIG_FILE).format == CONFIG_FORMAT
