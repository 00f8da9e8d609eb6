"""The parts that the site is built from: the command reference, shown docstrings, its own check."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.tools.check_site import faults
from docs.tools.commands import commands, reference
from tests.test_docs import commands as known_commands


def site(folder: Path, **pages: str) -> Path:
    for name, body in pages.items():
        (folder / f"{name}.html").write_text(f"<html><body>{body}</body></html>")
    return folder


def test_a_sound_site_has_no_faults(tmp_path: Path) -> None:
    first = '<h1 id="top">a</h1><a href="other.html#below">b</a><a href="https://a.example">c</a>'
    assert not list(faults(site(tmp_path, index=first, other='<p id="below"><a href="#below">')))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('<a href="gone.html">', "no such file"),
        ('<a href="#gone">', "no id 'gone'"),
        ('<a href="/index.html">', "absolute"),
        ('<a href="../outside.html">', "no such file"),
        ('<script src="https://cdn.example/x.js"></script>', "loads https://cdn.example/x.js"),
        ('<img src="//cdn.example/x.png">', "loads //cdn.example/x.png"),
        ('<link rel="stylesheet" href="https://cdn.example/x.css">', "loads"),
        ('<p style="background: url(https://cdn.example/x.png)">', "loads"),
        ('<img src="gone.png">', "no such file"),
        ('<code>--8 &lt; --"x.py"</code>', "snippet"),
    ],
)
def test_each_fault_is_named(tmp_path: Path, body: str, words: str) -> None:
    (found,) = faults(site(tmp_path, index=body))
    assert words in found


def test_a_style_sheet_may_load_nothing_from_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "fonts.css").write_text("@font-face { src: url('https://fonts.example/a.woff2') }")
    (found,) = faults(site(tmp_path, index="<p>"))
    assert "fonts.css" in found


def test_no_page_at_all_is_a_fault(tmp_path: Path) -> None:
    assert list(faults(tmp_path))


def test_the_command_reference_has_every_command_and_option() -> None:
    sections = dict(re.findall(r"^##+ (.+?)\n(.*?)(?=^##|\Z)", reference(), re.DOTALL | re.M))
    assert set(known_commands()) <= set(sections)
    for command in commands():
        shown = [param for param in command.parsed.params if not param.hidden]
        for option in (name for param in shown for name in param.opts if name.startswith("-")):
            assert re.search(rf"(?<![\w-]){option}(?![\w-])", sections[command.title]), option


def test_a_cell_of_the_reference_cannot_break_its_table() -> None:
    for line in reference().splitlines():
        if line.startswith("| "):
            assert line.replace("\\|", "").count("|") == 3, line
