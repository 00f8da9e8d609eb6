"""`rooftree kernelbench compare`: suites in pairs, small enough to be counted by hand."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import wilcoxon

from experiments.benchmarks.suite.comparing import (
    Comparison,
    Duel,
    compare_suites,
    read_suites,
    result_of,
)
from experiments.benchmarks.suite.finding import ProblemFile
from experiments.benchmarks.suite.folder import SuiteFolder
from experiments.benchmarks.suite.outcome import Gain, Outcome, Spent, Status
from mcts.errors import InputError
from mcts.statistics import Interval
from tests.support.commands import completed, json_of, refused, rooftree

MODEL_A, MODEL_B = {"model": "a", "budget": 20}, {"model": "b", "budget": 20}


def outcome(
    number: int,
    eager: float | None = None,
    compiled: float | None = None,
    *,
    status: Status | None = None,
    name: str = "",
    hardware: str = "H200",
) -> Outcome:
    return Outcome(
        level=1, number=number, name=name or f"1/{number}_P",
        status=status or ("failed" if eager is None else "correct"), hardware=hardware,
        eager=gain(eager, "eager PyTorch"), compiled=gain(compiled, "torch.compile"),
        spent=Spent(evaluations=4, cost_usd=0.25),
    )  # fmt: skip


def gain(speedup: float | None, over: str) -> Gain | None:
    if speedup is None:
        return None
    return Gain(
        over=over, time_us=1.0, baseline_us=speedup, speedup=speedup, low=speedup * 0.995,
        high=speedup * 1.005,
    )  # fmt: skip


def suite(
    path: Path,
    outcomes: Sequence[Outcome],
    *,
    settings: dict[str, Any] = MODEL_A,
    waiting: Sequence[int] = (),
) -> Path:
    """A suite's folder with these outcomes, and with problems that were not run yet."""
    folder = SuiteFolder(path)
    named = {one.number: one.name.removeprefix("1/") for one in outcomes}
    named |= {number: f"{number}_P" for number in waiting}
    files = [
        ProblemFile(level=1, number=number, path=Path(f"{name}.py"))
        for number, name in named.items()
    ]
    folder.begin(settings, files)
    for one in outcomes:
        folder.keep(one)
    return path


def compared(*paths: Path) -> Comparison:
    return compare_suites(read_suites(paths))


def duel_of(found: Comparison, over: str = "eager PyTorch", suite: str = "b") -> Duel:
    (duel,) = (each for each in found.duels if (each.over, each.suite) == (over, suite))
    return duel


def test_figures_agree_with_a_count_by_hand(tmp_path: Path) -> None:
    a = suite(tmp_path / "a", [outcome(1, 4.0), outcome(2, 1.0), outcome(3), outcome(4, 3.0)])
    b = suite(tmp_path / "b", [outcome(1, 2.0), outcome(2, 1.001), outcome(3), outcome(4)])
    duel = duel_of(compared(a, b))
    assert duel.problems == 4
    # Without a correct kernel a problem counts as 1.0: 4/2, 1/1.001, 1/1, 3/1.
    assert duel.ratio == pytest.approx((2 / 1.001 * 3) ** (1 / 4))
    assert (duel.wins, duel.ties, duel.losses) == (2, 2, 0)
    assert duel.low <= duel.ratio <= duel.high
    assert duel.p == duel.p_holm == 0.5  # two pairs that differ, both the same way


def test_p_is_the_exact_signed_rank_test_over_problems(tmp_path: Path) -> None:
    ours = [2.0, 1.5, 3.0, 0.9, 1.3, 5.0, 1.1, 2.5]
    theirs = [1.8, 1.6, 2.0, 0.7, 1.25, 3.0, 1.3, 1.0]
    a = suite(tmp_path / "a", [outcome(n, each) for n, each in enumerate(ours, 1)])
    b = suite(tmp_path / "b", [outcome(n, each) for n, each in enumerate(theirs, 1)])
    logs = [math.log(one / other) for one, other in zip(ours, theirs, strict=True)]
    assert duel_of(compared(a, b)).p == pytest.approx(wilcoxon(logs, mode="exact").pvalue)


def test_the_other_way_round_the_ratio_turns(tmp_path: Path) -> None:
    a = suite(tmp_path / "a", [outcome(n, 1.0 + n) for n in range(1, 8)])
    b = suite(tmp_path / "b", [outcome(n, 1.5) for n in range(1, 8)])
    one, other = duel_of(compared(a, b)), duel_of(compared(b, a), suite="a")
    assert one.ratio == pytest.approx(1 / other.ratio)
    assert one.p == other.p and one.effect == -other.effect
    assert (one.wins, one.losses) == (other.losses, other.wins)


@pytest.mark.parametrize(
    ("ours", "theirs", "result"),
    [
        ((1.9, 2.0, 2.1), (1.0, 1.1, 1.2), "win"),
        ((1.0, 1.1, 1.2), (1.9, 2.0, 2.1), "loss"),
        ((1.0, 2.0, 4.0), (1.0, 1.1, 1.2), "tie"),
        ((1.999, 2.0, 2.001), (1.984, 1.985, 1.986), "tie"),  # inside the noise
    ],
)
def test_a_tie_is_inside_the_intervals_or_the_noise(
    ours: tuple[float, float, float], theirs: tuple[float, float, float], result: str
) -> None:
    assert result_of(Interval(*ours), Interval(*theirs)) == result


def test_only_what_all_have_and_what_is_fair_is_compared(tmp_path: Path) -> None:
    a = suite(
        tmp_path / "a",
        [outcome(1, 2.0), outcome(2, 2.0), outcome(3, 2.0), outcome(4, 9.0), outcome(6, 2.0)],
        waiting=[5],
    )
    b = suite(
        tmp_path / "b",
        [outcome(1, 1.0), outcome(3, status="unfair"), outcome(4, 1.0, name="1/4_Other"),
         outcome(5, 1.0), outcome(6, 1.0), outcome(7, 1.0)],
    )  # fmt: skip
    found = compared(a, b)
    assert [each.name for each in found.outcomes["a"]] == ["1/1_P", "1/6_P"]
    assert duel_of(found).ratio == pytest.approx(2.0)
    assert {item.problem.partition("_")[0]: item.why for item in found.left_out} == {
        "1/2": "is only in a",
        "1/3": "was refused by the task gate in b",
        "1/4": "is not the same problem in all: 1/4_Other, 1/4_P",
        "1/5": "was not run yet in a",
        "1/7": "is only in b",
    }


def test_what_was_not_measured_over_compile_is_left_out_there(tmp_path: Path) -> None:
    a = suite(tmp_path / "a", [outcome(1, 2.0, 1.5), outcome(2, 2.0), outcome(3)])
    b = suite(tmp_path / "b", [outcome(1, 2.0, 1.0), outcome(2, 2.0, 1.0), outcome(3, 2.0, 1.2)])
    duel = duel_of(compared(a, b), "torch.compile")
    assert (duel.problems, duel.not_measured) == (2, ("1/2_P",))
    assert duel.ratio == pytest.approx((1.5 / 1.2) ** 0.5)


def test_without_torch_compile_there_is_no_such_comparison(tmp_path: Path) -> None:
    a = suite(tmp_path / "a", [outcome(1, 2.0, 1.5), outcome(2)])
    b = suite(tmp_path / "b", [outcome(1, 2.0), outcome(2)])
    assert [duel.over for duel in compared(a, b).duels] == ["eager PyTorch"]


def test_of_several_the_first_is_the_reference_and_p_is_corrected(tmp_path: Path) -> None:
    paths = [
        suite(tmp_path / name, [outcome(n, speed + n / 10) for n in range(1, 9)])
        for name, speed in (("a", 3.0), ("b", 2.0), ("c", 1.0))
    ]
    found = compared(*paths)
    assert found.reference == "a"
    assert [duel.suite for duel in found.duels] == ["b", "c"]
    assert all(duel.p == 2**-7 and duel.p_holm == 2**-6 for duel in found.duels)


def test_more_problems_see_a_smaller_ratio(tmp_path: Path) -> None:
    seen = []
    for count in (8, 80):
        found = [outcome(n, 2.0 if n % 2 else 1.9) for n in range(1, count + 1)]
        a = suite(tmp_path / f"{count}a", found)
        b = suite(tmp_path / f"{count}b", [outcome(n, 1.9) for n in range(1, count + 1)])
        seen.append(duel_of(compared(a, b), suite=f"{count}b").detectable)
    few, many = seen
    assert few is not None and many is not None and many < few


def test_hardware_errors_and_few_problems_are_warned_of(tmp_path: Path) -> None:
    a = suite(tmp_path / "a", [outcome(1, 2.0), outcome(2, status="error")])
    b = suite(tmp_path / "b", [outcome(1, 2.0, hardware="H100"), outcome(2, 2.0)])
    warnings = "\n".join(compared(a, b).warnings)
    assert "different hardware: a on H200; b on H100, H200" in warnings
    assert "because of an error: a 1" in warnings
    assert "2 problems cannot speak for others" in warnings


@pytest.fixture
def both(tmp_path: Path) -> tuple[Path, Path]:
    a = suite(tmp_path / "a", [outcome(n, 2.0 + n, 1.5) for n in range(1, 8)])
    b = suite(
        tmp_path / "b", [outcome(n, 2.0, 1.1) for n in range(1, 7)] + [outcome(7)],
        settings=MODEL_B,
    )  # fmt: skip
    return a, b


def test_the_command_shows_both_suites_and_what_tells_them_apart(both: tuple[Path, Path]) -> None:
    done = completed("kernelbench", "compare", *both, columns=160)
    text = done.stdout
    assert "no kernel" in text and "9.00x" in text and "8.96 to 9.04" in text and "$0.2500" in text
    assert "fast_1.5" in text and "7/0/0" in text and "would see" in text
    rows = [line.split() for line in text.splitlines()]
    assert ["model", "a", "b"] in rows
    assert not any(row and row[0] == "budget" for row in rows)  # the same in both
    assert "counts as 1.0" in " ".join(text.split())


@pytest.mark.parametrize("columns", [80, 120])
def test_a_narrow_terminal_loses_no_name(both: tuple[Path, Path], columns: int) -> None:
    text = completed("kernelbench", "compare", *both, columns=columns).stdout
    assert max(map(len, text.splitlines())) <= max(columns, 80) or "no room for" in text
    assert "1/7_P" in text and "torch.compile" in text and "…" not in text


def test_json_and_csv_hold_the_same_figures(both: tuple[Path, Path], tmp_path: Path) -> None:
    found = json_of("kernelbench", "compare", *both, "-o", tmp_path / "both.csv")
    assert found["reference"] == "a"
    assert found["settings_that_differ"] == {"model": {"a": "a", "b": "b"}}
    assert [duel["over"] for duel in found["duels"]] == ["eager PyTorch", "torch.compile"]
    assert found["suites"][1]["summary"]["eager"]["fast"]["0"] == pytest.approx(6 / 7)
    rows = list(csv.DictReader((tmp_path / "both.csv").open()))
    assert len(rows) == 14
    last = rows[-1]
    assert (last["suite"], last["status"], last["result_eager"]) == ("b", "failed", "win")
    assert float(last["ratio_eager"]) == 9.0


def test_folders_that_cannot_be_compared_are_refused(tmp_path: Path) -> None:
    a = suite(tmp_path / "a", [outcome(1, 2.0)])
    b = suite(tmp_path / "b", [outcome(2, 2.0)])
    refused(rooftree("kernelbench", "compare", a), "two suites or more")
    refused(rooftree("kernelbench", "compare", a, a), "each once")
    refused(rooftree("kernelbench", "compare", a, tmp_path / "c"), "is not the folder of a suite")
    refused(rooftree("kernelbench", "compare", a, b), "no problem in common", "1/1_P is only in a")
    (a / "outcomes" / "level1_1.json").write_text("{")
    with pytest.raises(InputError, match="cannot be read"):
        compared(a, b)


def test_suites_of_one_name_are_called_by_their_paths(tmp_path: Path) -> None:
    one = suite(tmp_path / "x" / "suite", [outcome(1, 2.0)])
    two = suite(tmp_path / "y" / "suite", [outcome(1, 2.0)])
    assert [each.label for each in read_suites([one, two])] == [str(one), str(two)]


def test_the_comparison_is_one_json_object(both: tuple[Path, Path]) -> None:
    done = completed("kernelbench", "compare", *both, "--json")
    assert len(done.stdout.splitlines()) == 1
    json.loads(done.stdout)
