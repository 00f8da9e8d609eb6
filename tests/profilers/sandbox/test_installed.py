"""Packages that lie beside ours, as `pip install --target` puts them, are visible in a jail."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import profilers
from profilers.children.processes import child_environment, probe_isolation
from profilers.sandbox.installed import importable_from

# Starts a child in a jail, which says what it could import from beside our packages, and read.
OUTSIDE = """
import os, sys
from pathlib import Path
from profilers.ncu.jailed import run_jailed
from profilers.sandbox import Jail
code, folder = sys.argv[1:]
table = Path("printed")
ended = run_jailed([sys.executable, "-P", "-c", code, folder], jail=Jail(), env=os.environ,
                   cwd=Path.cwd(), table=table, timeout_s=30)
print(table.read_text() or ended.output)
"""
INSIDE = """
import json, sys
from pathlib import Path
import profilers.sandbox, beside, one_file
try:
    read = Path(sys.argv[1], "secret").read_text()
except OSError:
    read = None
print(json.dumps({"ours": profilers.__file__, "beside": beside.__file__, "read": read}))
"""


def install(folder: Path, name: str, files: dict[str, str]) -> None:
    """Put a distribution into `folder` as pip does: its files, and a list of them."""
    record = f"{name}-1.0.dist-info/RECORD"
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    (folder / record).parent.mkdir()
    rows = [*(f"{path},sha256=0,{len(text)}" for path, text in files.items()), f"{record},,"]
    (folder / record).write_text("\r\n".join([*rows, "../../bin/tool,,", ""]))


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """A folder such as `pip install --target` makes, with a file of the user's in it."""
    folder = tmp_path / "target"
    for package in ("mcts", "profilers"):
        ours = Path(profilers.__file__).parents[1] / package
        shutil.copytree(ours, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    install(folder, "beside", {"beside/__init__.py": "from beside.part import it\n",
                               "beside/part.py": "it = 1\n"})  # fmt: skip
    install(folder, "one_file", {"one_file.py": "import beside\n"})
    (folder / "secret").write_text("the user's")
    return folder


def in_jail(folder: Path) -> dict[str, Any]:
    ended = subprocess.run(
        [sys.executable, "-P", "-c", OUTSIDE, INSIDE, str(folder)], cwd=folder.parent, text=True,
        env=child_environment() | {"PYTHONPATH": str(folder)}, capture_output=True, timeout=60,
    )  # fmt: skip
    assert ended.returncode == 0 and "{" in ended.stdout, ended.stdout + ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def test_packages_beside_ours_are_imported_in_a_jail(target: Path) -> None:
    found = in_jail(target)
    assert found["ours"] == str(target / "profilers" / "__init__.py")
    assert found["beside"] == str(target / "beside" / "__init__.py")
    if {"landlock", "mount"} & {*probe_isolation().parts}:
        assert found["read"] is None


def test_the_folder_may_be_reached_through_a_link(target: Path) -> None:
    link = target.parent / "link"
    link.symlink_to(target)
    assert in_jail(link)["beside"] == str(link / "beside" / "__init__.py")


def test_only_what_installers_list_is_taken(target: Path) -> None:
    taken = {path.name for path in importable_from(target)}
    assert taken == {"beside", "one_file.py", "beside-1.0.dist-info", "one_file-1.0.dist-info"}
    (target / "broken-1.0.dist-info").mkdir()
    (target / "broken-1.0.dist-info" / "RECORD").write_bytes(b"\xff\n")
    (target / "cached-1.0.dist-info").mkdir()
    (target / "cached-1.0.dist-info" / "RECORD").write_text("__pycache__/one_file.pyc,,\n/etc,,\n")
    more = {str(path.relative_to(target)) for path in importable_from(target)}
    assert more == taken | {"__pycache__/one_file.pyc"}


def test_a_folder_of_installers_is_taken_whole() -> None:
    site = Path("/some/lib/site-packages")
    assert importable_from(site) == [site]
