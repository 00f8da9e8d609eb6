"""The exported skill: what it names exists, and its scripts run."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.main

from experiments.cli import app
from experiments.cli.commands.skill import SCRIPTS, export, skill_name
from mcts.errors import InputError
from tests.support.commands import completed, refused, rooftree

ROOT = Path(__file__).resolve().parents[3]
KERNEL = ROOT / "experiments/data/tasks/row_softmax/kernel.cu"
COUNTERS = sorted((ROOT / "tests/data/ncu").rglob("*.csv"))
DEFAULTS = ("--evaluator", "replay")


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    export(tmp_path / "rooftree", force=False)
    return tmp_path / "rooftree"


def script(skill: Path, name: str, *words: object) -> subprocess.CompletedProcess[str]:
    """A script as an agent calls it, from another folder."""
    return subprocess.run(
        [str(skill / "scripts" / name), *map(str, words)],
        cwd=skill,
        env={
            **os.environ,
            "ROOFTREE": f"{sys.executable} -m experiments",
            "PYTHONPATH": str(ROOT),
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def commands_in(text: str) -> list[list[str]]:
    """Every ``rooftree ...`` in backquotes or in a script, as words."""
    quoted = re.findall(r"`rooftree ([^`]+)`", text)
    called = re.findall(r"\$\{ROOFTREE:-rooftree\} ([^\n)]+)", text)
    return [shlex.split(line.replace('"$@"', "")) for line in quoted + called]


def options_of(words: list[str]) -> tuple[Any, list[str]]:
    """The command that the words name, and the options that they give it."""
    command: Any = typer.main.get_command(app)
    rest = list(words)
    while hasattr(command, "commands") and (rest or not command.invoke_without_command):
        command = command.commands[rest.pop(0)]
    return command, [word for word in rest if word.startswith("-") and word != "--"]


def test_every_command_named_exists_with_exactly_those_options(skill: Path) -> None:
    texts = [(skill / "SKILL.md").read_text()]
    texts += [(skill / "scripts" / name).read_text() for name in SCRIPTS]
    named = [words for text in texts for words in commands_in(text)]
    assert {words[0] for words in named} >= {"evaluate", "inspect", "optimize", "doctor", "new"}
    for words in named:
        command, options = options_of(words)
        known = {name for param in command.params for name in param.opts}
        assert set(options) <= known, words


def test_every_option_in_the_prose_is_one_of_the_commands(skill: Path) -> None:
    text = (skill / "SKILL.md").read_text()
    known = {
        name
        for command in ("evaluate", "inspect", "optimize")
        for param in options_of([command])[0].params
        for name in param.opts
    }
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text.split("---\n", 2)[2])) <= known


def test_every_script_named_is_there_and_can_be_run(skill: Path) -> None:
    named = set(re.findall(r"scripts/(\w+\.sh)", (skill / "SKILL.md").read_text()))
    assert named == set(SCRIPTS) == {path.name for path in (skill / "scripts").iterdir()}
    for name in SCRIPTS:
        assert os.access(skill / "scripts" / name, os.X_OK)
        done = script(skill, name)
        assert done.returncode == 2
        assert done.stderr.startswith(f"usage: {name} ")


def test_the_front_matter_is_what_agents_read(skill: Path) -> None:
    _, front, body = (skill / "SKILL.md").read_text().split("---\n", 2)
    fields = dict(line.split(": ", 1) for line in front.splitlines())
    assert fields["name"] == "rooftree"
    assert "Use when" in fields["description"] and len(fields["description"]) <= 1024
    assert len(fields["compatibility"]) <= 500
    assert all(": " not in value for value in fields.values())  # plain YAML scalars
    assert len(body.splitlines()) < 200
    assert "@NAME@" not in body


def test_evaluate_judges_a_candidate(skill: Path) -> None:
    done = script(skill, "evaluate.sh", "row_softmax", KERNEL, *DEFAULTS)
    assert done.returncode == 0, done.stderr
    assert "measured" in done.stdout and "1.00x" in done.stdout


def test_verify_says_in_a_line_whether_it_is_right(skill: Path, tmp_path: Path) -> None:
    done = script(skill, "verify.sh", "row_softmax", KERNEL, *DEFAULTS)
    assert (done.returncode, done.stdout) == (0, f"{KERNEL}: measured\n"), done.stderr
    done = script(skill, "verify.sh", "row_softmax", tmp_path / "none.cu", *DEFAULTS)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1] == f"error: {tmp_path / 'none.cu'} does not exist"


def test_verify_says_why_a_candidate_is_not_right(skill: Path, tmp_path: Path) -> None:
    fake = tmp_path / "stand-in"
    fake.write_text(
        "#!/bin/sh\n"
        'echo \'{"candidates": [{"candidate": "a.py", "status": "refused", "cheat": "side_stream",'
        ' "message": "runs on"}]}\'\nexit 1\n'
    )
    fake.chmod(0o755)
    done = subprocess.run(
        [str(skill / "scripts/verify.sh"), "p.py", "a.py"],
        env={"PATH": os.environ["PATH"], "ROOFTREE": str(fake)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "a.py: refused (side_stream): runs on\n")


def test_inspect_gives_advice(skill: Path) -> None:
    done = script(skill, "inspect.sh", COUNTERS[0])
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_a_folder_in_use_is_left_alone_unless_forced(skill: Path) -> None:
    (skill / "mine.txt").write_text("kept")
    (skill / "SKILL.md").write_text("old")
    done = rooftree("skill", "export", skill)
    refused(done)
    assert done.stderr == f"error: {skill} is not empty: name a new folder, or give --force\n"
    assert (skill / "SKILL.md").read_text() == "old"
    done = completed("skill", "export", skill, "--force")
    assert done.stdout.splitlines()[0] == str(skill / "SKILL.md")
    assert (skill / "SKILL.md").read_text().startswith("---\nname: rooftree\n")
    assert (skill / "mine.txt").read_text() == "kept"


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a file"):
        export(tmp_path / "file", force=True)


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("Rooftree_Skill", "rooftree-skill"),
        ("a  b--c", "a-b-c"),
        ("---", "rooftree"),
        ("x" * 99, "x" * 64),
    ],
)
def test_the_skill_is_called_after_its_folder(tmp_path: Path, folder: str, name: str) -> None:
    assert skill_name(tmp_path / folder) == name
