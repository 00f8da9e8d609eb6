"""The same look-ups on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from experiments.cli import app
from tests.cutlass_search.conftest import LIKE, TMA


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def _run(*words: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, ["cutlass", *words, "--root", str(LIKE)])
    assert done.exit_code == code, done.output
    return done.output


def _json(*words: str) -> dict[str, Any]:
    return dict(json.loads(_run(*words, "--json")))


def test_index_says_version_licence_and_counts(tmp_path: Path) -> None:
    first = _run("index")
    assert "CUTLASS 9.1.3 (Apache-2.0)" in first
    assert " built in " in first
    assert "it was fresh" in _run("index")
    about = _json("index", "--rebuild")
    assert (about["version"], about["built"], about["files"]) == ("9.1.3", True, 7)
    assert Path(about["index"]).parent == tmp_path / "cache" / "rooftree" / "cutlass"


def test_each_look_up_cites_path_and_line() -> None:
    assert f"1. {TMA}:" in _run("search", "tma load")
    assert f"{TMA}:22-35  struct cute::SM90_TMA_LOAD" in _run("define", "SM90_TMA_LOAD")
    assert "sm90_tiny_mainloop.hpp:" in _run("uses", "SM90_TMA_LOAD")
    assert "   22  struct SM90_TMA_LOAD" in _run("read", TMA, "22-35")
    assert "cute::SM90_TMA_LOAD" in _run("example", "TMA load")


def test_json_holds_the_same() -> None:
    assert _json("search", "tma load")["results"][0]["best"]["path"] == TMA
    assert _json("define", "SM90_TMA_LOAD")["results"][0]["line"] == 22
    assert _json("read", TMA, "22-22")["text"] == "struct SM90_TMA_LOAD"
    assert _json("example", "TMA load")["concept"]["name"] == "TMA load"
    assert _json("uses", "SM90_TMA_LOAD")["total"] >= 1


@pytest.mark.parametrize(
    "words",
    [("read", "../../pyproject.toml"), ("search", "(a+)+$"), ("define", "nothing_like_it"),
     ("example", "zebra"), ("search", "tma", "--kind", "x"), ("read", TMA, "x")],
)  # fmt: skip
def test_a_refusal_is_one_line_and_exit_code_2(words: tuple[str, ...]) -> None:
    output = _run(*words, code=2)
    assert output.startswith("error: ")
    assert len(output.splitlines()) == 1


def test_concepts_are_listed_without_a_tree() -> None:
    done = CliRunner().invoke(app, ["cutlass", "example"])
    assert done.exit_code == 0
    assert "TMA load" in done.output
