"""Every command of the tutorial does what the page says it does.

Where only figures have changed, `python -m docs.tools.tutorial --update` writes those of now.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.tools.console import Difference, Step, steps, update
from docs.tools.tutorial import PAGES, run_page
from experiments.runs.machines.machine import gpu_problem

CHAPTERS = sorted(page for page in PAGES.glob("*.md") if list(steps(page)))


def check(differences: list[Difference]) -> None:
    if differences:
        pytest.fail("\n\n".join(map(str, differences)), pytrace=False)


@pytest.mark.parametrize("page", CHAPTERS, ids=lambda page: page.stem)
def test_the_commands_print_what_the_page_says(page: Path, tmp_path: Path) -> None:
    check(run_page(page, tmp_path))


@pytest.mark.gpu
def test_the_commands_for_a_gpu_print_what_the_page_says(tmp_path: Path) -> None:
    if problem := gpu_problem(0, torch=False):
        pytest.skip(problem)
    check(run_page(PAGES / "kernel.md", tmp_path, gpu=True))


def test_every_chapter_runs_something() -> None:
    assert len(CHAPTERS) >= 8
    for page in CHAPTERS:
        shell = re.findall(r"^\$ ", page.read_text(), re.MULTILINE)
        assert len(list(steps(page))) == len(shell), page.name


def a_page(folder: Path, text: str) -> Path:
    page = folder / "page.md"
    page.write_text(text)
    return page


def run(folder: Path, text: str) -> list[Difference]:
    inner = folder / "inner"
    inner.mkdir()
    return run_page(a_page(folder, text), inner)


def test_marks_and_continued_lines_are_understood(tmp_path: Path) -> None:
    text = "<!-- install -->\n```console\n$ pip \\\n    install .\n```\n\n"
    text += "```console\n$ a\n1\n2\n```\n"
    assert list(steps(a_page(tmp_path, text))) == [
        Step("pip install .", (), "install", 4),
        Step("a", ("1", "2"), "", 8),
    ]


def test_dots_stand_for_anything(tmp_path: Path) -> None:
    text = "```console\n$ seq 1 9; echo took 7 s\n1\n...\n8\n9\ntook ... s\n```\n"
    assert run(tmp_path, text) == []


@pytest.mark.parametrize(
    "said",
    ["1\n3", "1\n2\n3\n4", "1", "2\n...", "...\n4"],
    ids=["skipped", "missing", "more", "first", "never"],
)
def test_another_output_is_a_difference(tmp_path: Path, said: str) -> None:
    assert run(tmp_path, f"```console\n$ seq 1 3\n{said}\n```\n")


def test_a_command_that_fails_is_a_difference(tmp_path: Path) -> None:
    assert run(tmp_path, "```console\n$ echo 1; false\n1\n```\n")


def test_figures_that_changed_are_written_into_the_page(tmp_path: Path) -> None:
    text = "```console\n$ echo 'best 2.50x in 3 s'; echo end\nbest 1.25x in ...\nend\n```\n"
    page = a_page(tmp_path, text)
    inner = tmp_path / "inner"
    inner.mkdir()
    update(page, run_page(page, inner))
    assert "\nbest 2.50x in ...\nend\n" in page.read_text()
