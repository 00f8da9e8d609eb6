"""`new` and `report`: what is told to do next can be done, and a file is what its name says."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.support.commands import completed, rooftree


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "run"
    words = ("optimize", "transpose", "--evaluator", "replay", "--out", out, "--evaluations", 3)
    completed(*words)
    return out


@pytest.mark.parametrize("name", ["page.pdf", "page", "page.html.gz", "page.md"])
def test_a_report_is_not_written_under_another_kinds_name(
    run_dir: Path, tmp_path: Path, name: str
) -> None:
    found = rooftree("report", run_dir, "-o", tmp_path / name)
    assert found.exit_code == 2 and not (tmp_path / name).exists()
    assert (
        found.stderr == f"error: cannot write {name}: the report is a web page, name it FILE.html\n"
    )


@pytest.mark.parametrize("name", ["page.html", "PAGE.HTML"])
def test_a_report_is_written_as_html(run_dir: Path, tmp_path: Path, name: str) -> None:
    completed("report", run_dir, "-o", tmp_path / name)
    assert (tmp_path / name).read_text().startswith("<!doctype html>")


@pytest.mark.parametrize("name", ["mine", "my own 'kernel'"])
def test_without_a_gpu_a_new_task_is_inspected_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("experiments.cli.commands.show.gpu_problem", lambda: "no GPU")
    found = rooftree("new", tmp_path / name)
    first, then = found.stdout.splitlines()[3:]
    command = shlex.split(first.removeprefix("next: "))
    assert command == ["rooftree", "inspect", str(tmp_path / name / "kernel.cu")]
    assert Path(command[-1]).is_file()
    folder = shlex.quote(str(tmp_path / name))
    assert then.startswith(f"then, on a GPU: rooftree optimize {folder} (rooftree doctor ")


def test_with_a_gpu_a_new_task_is_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.cli.commands.show.gpu_problem", lambda: None)
    found = rooftree("new", tmp_path / "mine")
    assert found.stdout.splitlines()[3:] == [f"next: rooftree optimize {tmp_path / 'mine'}"]
