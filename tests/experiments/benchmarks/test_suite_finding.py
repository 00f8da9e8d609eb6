"""Problem files by level and number."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.benchmarks.suite.finding import chosen, problems_of
from mcts.errors import InputError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("1_A.py", "2_B.py", "10_C_.py", "11.py", "README.md", "notes.py"):
        path = tmp_path / "KernelBench" / "level1" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    (tmp_path / "KernelBench" / "level2").mkdir()
    (tmp_path / "KernelBench" / "level3").mkdir()
    for name in ("5_A.py", "05_B.py"):
        (tmp_path / "KernelBench" / "level3" / name).write_text("")
    return tmp_path


def test_numbers_are_the_prefixes_of_names_in_the_order_of_numbers(root: Path) -> None:
    found = problems_of(root, 1)
    assert [(number, problem.path.name) for number, problem in found.items()] == [
        (1, "1_A.py"), (2, "2_B.py"), (10, "10_C_.py"), (11, "11.py"),
    ]  # fmt: skip
    assert found[10].key == "level1_10"


def test_a_folder_of_levels_will_do_for_a_checkout(root: Path) -> None:
    assert list(problems_of(root / "KernelBench", 1)) == list(problems_of(root, 1))


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        ("all", [1, 2, 10, 11]),
        ("2", [2]),
        ("10,1, 1", [1, 10]),
        ("1-10", [1, 2, 10]),
        ("2-99,1", [1, 2, 10, 11]),
    ],
)
def test_numbers_ranges_and_all(root: Path, words: str, numbers: list[int]) -> None:
    assert [problem.number for problem in chosen(problems_of(root, 1), words)] == numbers


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("3", r"level1 has 1-2, 10-11"),
        ("1,3-9", "level1 has 1-2, 10-11"),
        ("9-1", "ends before it begins"),
        ("", "write numbers"),
        ("1,,2", "write numbers"),
        ("-1", "write numbers"),
        ("1-2-3", "write numbers"),
        ("one", "write numbers"),
    ],
)
def test_numbers_that_choose_nothing_are_refused(root: Path, words: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        chosen(problems_of(root, 1), words)


@pytest.mark.parametrize(
    ("below", "level", "said"),
    [
        ("", 2, "level2 holds no problem"),
        ("", 3, "are both problem 5"),
        ("", 4, "has no level 4, only 1, 2, 3"),
        ("KernelBench/level1", 1, "a level itself"),
        ("nowhere", 1, "nowhere does not exist"),
        ("KernelBench/level1/1_A.py", 1, "is a file"),
    ],
)
def test_a_path_that_is_no_level_is_refused(root: Path, below: str, level: int, said: str) -> None:
    with pytest.raises(InputError, match=said):
        problems_of(root / below, level)


def test_a_folder_without_levels_is_no_checkout(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no KernelBench checkout"):
        problems_of(tmp_path, 1)
