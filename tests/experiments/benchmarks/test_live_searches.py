"""Searches of bundled tasks are kept one by one, gone on with, and told by task."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from experiments.benchmarks.evidence import live_searches
from experiments.benchmarks.evidence.live_searches import COLUMNS, main, read, table
from experiments.runs.tasks.files import find_task
from profilers.recordings.t4 import load_recording


def command(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    replayed = ["--evaluator", "replay", "--evaluations", "6", "--seeds", "2"]
    monkeypatch.setattr(sys, "argv", ["live_searches", *map(str, words), *replayed])
    return main()


def test_what_is_missing_is_searched_and_what_is_there_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "searches.jsonl"
    assert command(monkeypatch, "gelu", "--out", out, "--minutes", 0) == 0
    assert "the time is up" in capsys.readouterr().err and not read(out)
    assert command(monkeypatch, "gelu", "--out", out) == 0
    first = capsys.readouterr()
    assert [(found["task"], found["seed"]) for found in read(out)] == [("gelu", 1), ("gelu", 2)]
    assert all(found["evaluations"] == 6 and "judging" in found["stages_s"] for found in read(out))
    kept = out.read_text(encoding="utf-8")
    assert command(monkeypatch, "gelu", "--out", out) == 0
    again = capsys.readouterr()
    assert out.read_text(encoding="utf-8") == kept and again.out == first.out and not again.err
    assert command(monkeypatch, "--out", out, "--show") == 0
    assert capsys.readouterr().out == first.out


def test_a_search_that_fails_is_told_with_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(monkeypatch, "no_such_task", "--out", tmp_path / "searches.jsonl") == 2
    said = capsys.readouterr().err
    assert "no_such_task, seed 1: " in said and "unknown task" in said


@pytest.mark.parametrize("text", ["no json", "[1]", json.dumps({"task": "gelu"})])
def test_another_file_is_not_gone_on_with(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "other"
    out.write_text(text, encoding="utf-8")
    assert command(monkeypatch, "gelu", "--out", out) == 2
    assert "holds no searches" in capsys.readouterr().err


def test_a_row_has_the_median_and_how_often_it_was_close() -> None:
    best = load_recording(find_task("gelu").recordings[-1]).summary().best_speedup
    assert best is not None
    kept = dict.fromkeys(live_searches._KEPT, "") | {"task": "gelu", "hardware": "NVIDIA H200"}
    searches = [
        kept | {"seed": seed, "speedup": share * best, "failed": seed, "evaluations": 40,
                "seconds": 10 * seed}
        for seed, share in enumerate((0.5, 0.96, 1.0))
    ]  # fmt: skip
    searches[1]["stages_s"] = {"profiling": 3.0, "timing": 7.0}
    searches[2]["stages_s"] = {"profiling": 10.0, "timing": 10.0}
    header, _, row = table(searches)
    assert header.count("|") == row.count("|") == len(COLUMNS) + 1
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[0] == "gelu" and cells[3:5] == ["96.0%", "2 of 3"]
    assert cells[5:] == ["3 of 120", "10", "40%", "NVIDIA H200"]
    assert cells[1] == f"{0.96 * best:.2f} ({0.5 * best:.2f} to {best:.2f})"
    old = [{key: search[key] for key in search if key != "stages_s"} for search in searches]
    assert "| n/a |" in table(old)[-1]
