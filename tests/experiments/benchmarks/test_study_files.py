"""What is wrong in a study's file: the key, what it has to be, and which keys there are."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import field_serializer

from experiments.benchmarks.studies.config import read_study
from experiments.benchmarks.studies.folder import StudyFolder, _text_of
from mcts.domain import Noun
from mcts.errors import InputError

TOP = 'tasks = ["row_softmax"]\nseeds = 2\nreference = "tree"\n'
ARMS = '[arms.tree]\n[arms.walk]\nsearch = "greedy"\n'
OF_A_STUDY = (
    "a study has the keys name, kind, question, expansions, tasks, seeds, first_seed, budget, "
    "most, at, reference, alpha, noise, matters, matters_evaluations, arms"
)
OF_AN_ARM = (
    "an arm has the keys search, proposer, settings, guidance, lessons, history, implementations, "
    "memory, parallel, stop_within"
)


def refused(folder: Path, text: str) -> str:
    file = folder / "mine.toml"
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        read_study(file)
    return str(caught.value).removeprefix(f"{file}: ")


def test_the_unchanged_file_is_valid(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(TOP + ARMS)
    assert read_study(tmp_path / "mine.toml").others == ("walk",)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (TOP + ARMS + 'guidanc = "none"\n',
         f"there is no key arms.walk.guidanc (did you mean guidance?); {OF_AN_ARM}"),
        (TOP + "sedes = 3\n" + ARMS, f"there is no key sedes (did you mean seeds?); {OF_A_STUDY}"),
        (TOP + "zzz = 3\n" + ARMS, f"there is no key zzz; {OF_A_STUDY}"),
        (TOP + ARMS + "most = 3\n",
         f"there is no key arms.walk.most (most belongs above the first [arms...]); {OF_AN_ARM}"),
        (TOP + "zz = 3\nyy = 3\n" + ARMS,
         f"there is no key zz; there is no key yy; {OF_A_STUDY}"),
    ],
)  # fmt: skip
def test_an_unknown_key_is_told_with_the_known_ones(tmp_path: Path, text: str, line: str) -> None:
    assert refused(tmp_path, text) == line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (TOP.replace("2", "0") + ARMS, "seeds = 0: at least 1"),
        (TOP.replace("2", '"two"') + ARMS, 'seeds = "two": a whole number'),
        (TOP + 'budget = "randm"\n' + ARMS, 'budget = "randm": a whole number or random'),
        (TOP + "budget = 0\n" + ARMS, "budget = 0: a run needs at least one evaluation"),
        (TOP + "alpha = 0.7\n" + ARMS, "alpha = 0.7: less than 0.5"),
        (TOP + "matters = 1\n" + ARMS, "matters = 1: more than 1"),
        (TOP + 'at = [20, "x"]\n' + ARMS, 'at.2 = "x": a whole number'),
        (TOP + 'name = "a b"\n' + ARMS,
         'name = "a b": letters, digits, _, - and ., which does not come first'),
        (TOP + ARMS + "parallel = 100\n", "arms.walk.parallel = 100: at most 64"),
        (TOP + ARMS + 'guidance = "tool"\n',
         'arms.walk.guidance = "tool": tools, roofline, counters or none'),
        (TOP + ARMS + 'lessons = "maybe"\n', 'arms.walk.lessons = "maybe": true or false'),
        (TOP + ARMS + '[arms.walk.settings]\nbranching = "a"\n',
         'arms.walk.settings.branching = "a": a number'),
        (TOP + "arms = 3\n", "arms = 3: a table"),
        (TOP + "[arms.tree]\n", "arms: at least 2"),
        (TOP.replace("[", "").replace("]", "") + ARMS, 'tasks = "row_softmax": a list'),
        (ARMS, "tasks: it is missing; seeds: it is missing; reference: it is missing"),
        (TOP.replace("tree", "bush") + ARMS, "reference 'bush' is none of the arms"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_shown_with_what_it_has_to_be(
    tmp_path: Path, text: str, line: str
) -> None:
    assert refused(tmp_path, text) == line


def test_at_most_three_errors_are_listed(tmp_path: Path) -> None:
    wrong = "".join(f"{key} = -1\n" for key in ("alpha", "noise", "most", "matters"))
    assert refused(tmp_path, TOP + wrong + ARMS).endswith("(and 1 more)")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a = " + "[" * 100_000, "nested too deeply"),
        ("seeds = " + "9" * 5000, "more than 4300 digits"),
        ("seeds = 0x" + "f" * 5000, "more than 300 digits"),
        ("a." * 50_000 + "b = 1", "a key has more than 32 parts"),
    ],
)
def test_a_file_past_what_anybody_writes_is_refused(tmp_path: Path, text: str, told: str) -> None:
    assert told in refused(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"format": ' + "9" * 5000 + "}", '{"a": ' * 100_000, '{"format": 1e999}'],
)
def test_a_plan_past_what_anybody_writes_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "study.json").write_text(text)
    with pytest.raises(InputError, match=r"study\.json"):
        StudyFolder(tmp_path).plan()


def test_an_interrupt_while_a_line_is_written_is_one() -> None:
    class Line(Noun):
        value: int = 1

        @field_serializer("value")
        def interrupted(self, value: int) -> int:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _text_of(Line())
