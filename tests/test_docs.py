"""What the documents say of the command line is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.main import get_command

from experiments.cli import app

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES = [page for page in sorted((ROOT / "docs").glob("*/*.md")) if "```bash" in page.read_text()]


def commands() -> dict[str, set[str]]:
    """Every command with its options; those of groups by both words."""
    found: dict[str, set[str]] = {}

    def walk(command: object, name: str) -> None:
        inner = getattr(command, "commands", None)
        for word, each in (inner or {}).items():
            walk(each, f"{name} {word}".strip())
        if inner is None:
            params = getattr(command, "params", [])
            found[name] = {option for param in params for option in param.opts}

    walk(get_command(app), "")
    return found


def test_the_readme_names_every_command() -> None:
    table = ROOT.joinpath("README.md").read_text().partition("## Commands")[2]
    rows = "\n".join(line for line in table.splitlines() if line.startswith("| "))
    for name in commands():
        assert re.search(rf"`(?:rooftree )?{name.split()[0]}\b", rows), name


@pytest.mark.parametrize("document", [*DOCUMENTS, *PAGES], ids=lambda path: path.name)
def test_options_in_commands_exist(document: Path) -> None:
    """Each `rooftree ...` line of a shell block, continued lines joined, knows its options."""
    text = document.read_text().replace("\\\n", " ")
    known = commands()
    for block in re.findall(r"```(?:bash|sh)?\n(.*?)```", text, re.DOTALL):
        for line in re.findall(r"^\s*rooftree (.*)$", block, re.MULTILINE):
            words = re.sub(r"\s#.*|\s[|>].*", "", line).split()
            name = next((n for n in (" ".join(words[:2]), words[0]) if n in known), None)
            assert name is not None, line
            options = {word.partition("=")[0] for word in words if word.startswith("--")}
            assert options - known[name] <= {"--"}, line


def test_links_between_documents_lead_somewhere() -> None:
    for document in DOCUMENTS:
        prose = re.sub(r"```.*?```", "", document.read_text(), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)#:]+)\)", prose):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_the_options_that_the_models_page_explains_exist() -> None:
    every = set().union(*commands().values())
    named = set(re.findall(r"`(--[a-z-]+)", (ROOT / "docs" / "models.md").read_text()))
    assert named <= every, named - every


def test_the_map_of_pages_names_every_page_of_the_navigation() -> None:
    navigation = re.findall(r"(\S+\.md)$", ROOT.joinpath("mkdocs.yml").read_text(), re.MULTILINE)
    linked = set(re.findall(r"\]\(([\w/-]+\.md)", ROOT.joinpath("docs/index.md").read_text()))
    assert set(navigation) - {"index.md"} <= linked
