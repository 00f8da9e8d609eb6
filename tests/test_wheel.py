"""What the wheel holds: the product and its data, and nothing that cheats or only reproduces."""

from __future__ import annotations

import ast
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WHEEL = CONFIG["tool"]["hatch"]["build"]["targets"]["wheel"]
LEFT_OUT = [folder.strip("/") for folder in WHEEL["exclude"]]


def wheel_files() -> list[str]:
    """The files hatchling packs: those of the packages that git tracks, less what is excluded."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *WHEEL["packages"]],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    inside = [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]
    return [name for name in inside if not name.startswith(tuple(f"{out}/" for out in LEFT_OUT))]


def test_cheats_and_scripts_of_the_documentation_are_left_out() -> None:
    benchmarks = "experiments/benchmarks"
    assert set(LEFT_OUT) == {
        f"{benchmarks}/corpus",
        f"{benchmarks}/cutlass_kernels",
        f"{benchmarks}/evidence",
        f"{benchmarks}/kernels_for_comparison",
    }
    for folder in LEFT_OUT:
        assert (ROOT / folder).is_dir(), f"{folder} was moved: what is there now is in the wheel"


@pytest.mark.parametrize(
    "pattern",
    [
        "experiments/data/tasks/row_softmax/kernel.cu",
        "experiments/data/tasks/row_softmax/recordings/*.json.gz",
        "experiments/data/templates/task.toml",
        "experiments/benchmarks/clinic/truth.toml",
        "experiments/benchmarks/clinic/kernels/recordings/*.json.gz",
        "experiments/benchmarks/expansions/data/*.jsonl.gz",
        "experiments/benchmarks/studies/*.toml",
        "experiments/**/*.css",
        "experiments/**/*.LICENSE",
        "codegen/playbook.toml",
        "cutlass_search/index/concept_map/*.toml",
        "codegen/prompting/templates/*.md",
        "**/SKILL.md",
        "**/py.typed",
    ],
)
def test_the_data_that_the_product_reads_is_packed(pattern: str) -> None:
    packed = set(wheel_files())
    assert packed & {str(path.relative_to(ROOT)) for path in ROOT.glob(pattern)}


def test_nothing_that_is_packed_imports_what_is_left_out() -> None:
    """As an import contract holds, and for packages that nobody added to it as well."""
    modules = tuple(folder.replace("/", ".") for folder in LEFT_OUT)
    for name in wheel_files():
        if name.endswith(".py") and "/data/" not in name:
            tree = ast.parse((ROOT / name).read_text(encoding="utf-8"))
            assert not [found for found in imports(tree) if found.startswith(modules)], name


def imports(tree: ast.Module) -> list[str]:
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


def test_the_module_that_users_import_is_a_package_that_says_it_is_typed() -> None:
    assert WHEEL["force-include"] == {
        "rooftree.py": "rooftree/__init__.py",
        "mcts/py.typed": "rooftree/py.typed",
    }
    assert all((ROOT / file).is_file() for file in WHEEL["force-include"])
