"""`rooftree compare RUN...`: arms, pairs, wins, curves and the page; a study stays a study."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from experiments.benchmarks.comparing.comparing import arms_of, compare_runs
from experiments.benchmarks.comparing.curves import charts
from experiments.benchmarks.comparing.nouns import RunComparison
from experiments.benchmarks.comparing.page import page
from experiments.benchmarks.comparing.rows import duel_row, run_row
from experiments.benchmarks.comparing.runs import ComparedRun, read_runs
from experiments.runs.folders.folder import RunFolder
from experiments.runs.folders.journal import SqliteJournal, read_events
from experiments.views.summary import result_of
from mcts.domain import Evaluation
from mcts.errors import InputError
from tests.support.commands import completed, json_of, optimized, refused, rooftree


def run(
    path: str = "runs/a",
    *,
    label: str = "",
    task: str = "toy",
    task_id: str = "task-1",
    hardware: str = "Paper GPU",
    seed: int = 1,
    search: str = "puct",
    speedup: float = 2.0,
    spread: float = 0.01,
    best_so_far: tuple[float, ...] = (1.0, 2.0),
    confirmed: bool = True,
    cost_usd: float | None = 0.0,
    replies: int = 0,
) -> ComparedRun:
    return ComparedRun(
        path=path,
        label=label,
        task=task,
        task_id=task_id,
        hardware=hardware,
        over="baseline",
        seed=seed,
        traits={"search": search, "proposer": "scripted", "settings": ""},
        speedup=speedup,
        speedup_low=speedup * (1 - spread),
        speedup_high=speedup * (1 + spread),
        confirmed=confirmed,
        time_us=100 / speedup,
        evaluations=2,
        unique=2,
        failed=0,
        seconds=1.0,
        cost_usd=cost_usd,
        tokens=0,
        gpu_s=None,
        replies=replies,
        stopped="evaluations spent",
        best_so_far=best_so_far,
    )


def duel(found: RunComparison, arm: str) -> tuple[int, int, int]:
    one = next(one for one in found.duels if one.arm == arm)
    return (one.wins, one.ties, one.losses)


def test_an_arm_is_called_after_what_differs() -> None:
    assert arms_of([run(search="puct"), run(search="greedy")]) == ["puct", "greedy"]
    assert arms_of([run(seed=1), run(seed=2)]) == ["puct, scripted"] * 2
    assert arms_of([run(label="new"), run(search="puct")]) == ["new", "puct, scripted"]


def test_pairs_share_a_seed_where_they_can() -> None:
    ours = [run("a1", label="a", seed=1, speedup=2.0), run("a2", label="a", seed=2, speedup=3.0)]
    theirs = [run("b1", label="b", seed=1, speedup=1.0), run("b2", label="b", seed=2, speedup=3.0)]
    found = compare_runs([*ours, *theirs], reference=None)
    assert duel(found, "b") == (1, 1, 0)
    one = found.duels[0]
    assert one.by_seed and one.ratio == pytest.approx(math.sqrt(2))
    assert one.low is not None and one.high is not None and one.low <= one.ratio <= one.high
    loose = compare_runs([*ours, run("c", label="c", seed=9, speedup=2.5)], reference="c")
    assert duel(loose, "a") == (1, 0, 1)
    assert not loose.duels[0].by_seed and loose.duels[0].low is None


def test_two_runs_are_told_apart_by_their_intervals() -> None:
    found = compare_runs([run("a", label="a"), run("b", label="b", speedup=1.99)], reference=None)
    assert duel(found, "b") == (0, 1, 0)
    one = found.duels[0]
    assert one.low == pytest.approx(2.0 * 0.99 / (1.99 * 1.01))
    assert one.high == pytest.approx(2.0 * 1.01 / (1.99 * 0.99))
    assert "0/1/0" in duel_row(one)


def test_tasks_weigh_the_same_however_many_runs_they_have() -> None:
    runs = [run(f"a{n}", label="a", seed=n, speedup=4.0) for n in range(5)]
    runs += [run("b", label="b", seed=0, speedup=1.0)]
    runs += [run("c", label="a", task="other", task_id="task-2", speedup=1.0)]
    runs += [run("d", label="b", task="other", task_id="task-2", speedup=4.0)]
    found = compare_runs(runs, reference="a")
    assert found.duels[0].ratio == pytest.approx(1.0)
    assert found.duels[0].tasks == ("toy", "other")


def test_runs_that_mean_something_else_are_kept_apart() -> None:
    other = run("b", label="b", hardware="Other GPU")
    found = compare_runs([run("a", label="a"), other], reference=None)
    assert found.tasks == ("toy on Paper GPU", "toy on Other GPU") and not found.duels
    said = " ".join(found.warnings)
    assert "differ in the task itself, the hardware or the baseline" in said
    assert "a and b have no task in common" in said
    changed = compare_runs([run("a"), run("b", task_id="task-9")], reference=None)
    assert changed.tasks == ("toy (version 1)", "toy (version 2)")


def test_an_unknown_reference_is_refused() -> None:
    with pytest.raises(InputError, match="no arm is called 'x'; there are: puct"):
        compare_runs([run()], reference="x")


def test_several_runs_make_a_band() -> None:
    runs = [run(f"{n}", seed=n, best_so_far=(1.0, float(n))) for n in range(1, 6)]
    (chart,) = charts(compare_runs(runs, reference=None))
    (curve,) = chart.curves
    assert curve.median == (1.0, 3.0) and curve.low == (1.0, 2.0) and curve.high == (1.0, 4.0)
    assert chart.optimum == 5.0
    single = charts(compare_runs(runs[:1], reference=None))[0].curves[0]
    assert single.low == () == single.high


def test_a_run_that_ended_earlier_stays_where_it_ended() -> None:
    runs = [run("a", best_so_far=(2.0,)), run("b", seed=2, best_so_far=(1.0, 1.0, 4.0))]
    (curve,) = charts(compare_runs(runs, reference=None))[0].curves
    assert curve.median == (1.5, 1.5, 3.0)


def test_costs_that_are_not_known_are_not_zero() -> None:
    runs = [run("a", cost_usd=None, replies=3), run("b", seed=2, cost_usd=1.5, replies=3)]
    found = compare_runs(runs, reference=None)
    assert "unknown" in run_row(found.entries[0]) and "1.50 USD" in run_row(found.entries[1])
    assert found.standings[0].cost_usd is None


def test_the_page_needs_nothing_else_and_shows_text_as_text() -> None:
    evil = '<script>alert(1)</script>"&'
    found = compare_runs(
        [run(f"runs/{evil}", label=evil, confirmed=False), run("b", label="b")], reference=None
    )
    text = page(found, charts(found))
    assert "<script" not in text and "&lt;script&gt;" in text
    assert not re.search(r"(?:src|href)\s*=", text) and "default-src 'none'" in text
    assert 'name="viewport"' in text
    assert "not confirmed by a second measurement" in text


@pytest.fixture
def two(toy_folder: Path, tmp_path: Path) -> list[Path]:
    runs = [tmp_path / f"run-{seed}" for seed in (1, 2)]
    for seed, run in enumerate(runs, start=1):
        optimized(toy_folder, run, "--evaluations", 12, "--seed", seed)
    return runs


def test_the_command_compares_runs(two: list[Path], tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    done = completed("compare", f"one={two[0]}", f"two={two[1]}", "-o", target)
    assert "one against" in done.stdout and str(target) in done.stdout
    assert "<svg" in target.read_text()
    found = json_of("compare", *two, "-o", target)
    assert [entry["run"]["seed"] for entry in found["entries"]] == [1, 2]
    assert found["standings"][0]["runs"] == 2 and found["duels"] == []


def test_a_cost_of_which_only_a_part_is_known_is_not_compared(two: list[Path]) -> None:
    one = {"model": "dear", "prompt_tokens": 9, "completion_tokens": 1}
    usage = {**one, "cost_usd": None, "replies": 2, "priced_usd": 0.25, "unpriced": [one]}
    said = {"key": "1:method", "candidate": None, "reason": "", "usage": usage}
    with SqliteJournal(RunFolder(two[0]).journal) as journal:
        journal.append("removed", said)
    (found,) = read_runs([str(two[0])])
    assert (found.cost_usd, found.tokens, found.replies) == (None, 10, 2)
    page_path = two[0].parent / "page.html"
    assert "unknown" in rooftree("compare", *two, "-o", page_path).stdout


def test_a_curve_is_the_searches_best_after_each_distinct_candidate(two: list[Path]) -> None:
    (found,) = read_runs([str(two[0])])
    events = read_events(two[0])
    assert len(found.best_so_far) == result_of(events).unique == found.unique
    assert list(found.best_so_far) == sorted(found.best_so_far)
    speedups = [
        Evaluation.model_validate(event.payload["evaluation"]).speedup or 0.0
        for event in events
        if event.kind == "measured"
    ]
    assert found.best_so_far[-1] == max(1.0, *speedups[1:])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("{run}", "{run}"), "is given twice"),
        (("{run}", "{empty}"), "is not a run folder"),
        (("{empty}",), "is not a study's folder"),
        (("nowhere",), "is not a run folder: it does not exist"),
        (("x=nowhere",), "is not a run folder: it does not exist"),
        (("{run}", "{study}"), "is a study: compare one study by itself"),
    ],
)
def test_runs_that_cannot_be_compared_are_refused(
    words: tuple[str, ...], said: str, toy_folder: Path, tmp_path: Path
) -> None:
    places = {name: tmp_path / name for name in ("run", "empty", "study")}
    optimized(toy_folder, places["run"], "--evaluations", 3)
    places["empty"].mkdir()
    places["study"].mkdir()
    (places["study"] / "study.json").write_text("{}")
    target = tmp_path / "page.html"
    refused(rooftree("compare", *(word.format(**places) for word in words)), said)
    assert not target.exists()


def test_a_file_of_somebody_elses_is_not_overwritten(
    two: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "compare.html"
    page.write_text("my notes")
    refused(rooftree("compare", *two), "compare.html is there and is no page of ours", "-o")
    assert page.read_text() == "my notes"
    page.unlink()
    for _ in range(2):
        completed("compare", *two)
