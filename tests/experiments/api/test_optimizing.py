"""Searches from Python: of named tasks, and of parts of one's own."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any

import pytest

import rooftree
from experiments.api.results import Result
from mcts.domain import Candidate
from mcts.search.greedy import GreedySettings
from mcts.testing.toy import SPACE, ToyEvaluator, ToyProposer
from tests.support.commands import json_of

SPACE_OF_TWO = {"A": [1, 2, 4, 8], "B": [1, 2, 3]}


def cost(candidate: Candidate) -> float:
    values = candidate.tunables
    return 10.0 / int(values["A"]) + abs(int(values["B"]) - 2)


def test_a_named_task_gives_the_tree_that_the_command_gives(tmp_path: Path) -> None:
    said = json_of(
        "optimize", "transpose", "--evaluator", "replay", "--evaluations", 15, "--seed", 3,
        "--out", tmp_path / "run",
    )  # fmt: skip
    run = rooftree.optimize("transpose", evaluator="replay", evaluations=15, seed=3)
    assert run.record.tree_digest == said["tree_digest"] and run.folder is None
    assert run.speedup == pytest.approx(said["speedup"])
    kept = rooftree.load_run(tmp_path / "run")
    assert kept.record.tree_digest == said["tree_digest"] and kept.folder == tmp_path / "run"


def test_a_run_kept_in_a_folder_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[rooftree.Progress] = []
    out = tmp_path / "run"
    run = rooftree.optimize(
        "transpose", evaluator="replay", evaluations=5, out=out, on_progress=seen.append
    )
    assert run.evaluations == 5 and seen[-1].budget == 5 and (out / "report.html").is_file()
    more = rooftree.resume(out, evaluations=9)
    whole = rooftree.optimize("transpose", evaluator="replay", evaluations=9)
    assert more.evaluations == 9 and more.record.tree_digest == whole.record.tree_digest
    assert capsys.readouterr().out == ""


def test_what_a_function_raises_or_returns_wrongly_is_a_failed_variant() -> None:
    def sometimes(candidate: Candidate) -> Any:
        values = candidate.tunables
        if values["A"] == 8:
            raise MemoryError("too\nbig")
        if values["A"] == 4:
            return {2: -1.0, 3: float("nan")}.get(int(values["B"]), "no number")
        return cost(candidate)

    run = rooftree.optimize(SPACE_OF_TWO, evaluator=sometimes, evaluations=11)
    by_values = {tuple(v.tunables.values()): v for v in run.variants}
    assert run.record.unique == 11 and run.record.failed == 6
    said = {k: v.evaluation.message for k, v in by_values.items() if v.evaluation}
    assert said[(8, 1)] == "MemoryError: too big" and "returned -1.0" in said[(4, 2)]
    assert run.best.tunables == {"A": 2, "B": 2}


def test_the_noise_of_a_function_is_the_interval_of_its_times() -> None:
    def noisy(candidate: Candidate) -> tuple[float, float]:
        return cost(candidate), 0.1

    run = rooftree.optimize(SPACE_OF_TWO, evaluator=noisy, evaluations=11)
    best = run.best
    assert best.time_us == 1.25 and best.speedup == pytest.approx(11 / 1.25)
    low, high = best.interval or (0, 0)
    assert low == pytest.approx(11 / 1.25 * 0.9 / 1.1) and high == pytest.approx(
        11 / 1.25 * 1.1 / 0.9
    )


def test_constraints_leave_out_what_they_exclude() -> None:
    run = rooftree.optimize(SPACE_OF_TWO, evaluator=cost, where=["A * B <= 8"], evaluations=20)
    assert all(int(v.tunables["A"]) * int(v.tunables["B"]) <= 8 for v in run.variants)
    assert run.stop_reason == "nothing left to try"


def test_parts_of_ones_own_are_used_and_left_open() -> None:
    class Judge(ToyEvaluator):
        closed = False

        def close(self) -> None:
            self.closed = True

    judge = Judge()
    run = rooftree.optimize(
        judge.task,
        evaluator=judge,
        proposer=ToyProposer(),
        search=GreedySettings(),
        advisor=rooftree.SilentAdvisor(),
        evaluations=12,
    )
    assert run.speedup > 1 and not judge.closed and run.facts.proposer == "toy"
    assert set(run.best.tunables) == set(SPACE.tunables)


def test_a_run_on_a_journal_goes_on_also_on_disk(tmp_path: Path) -> None:
    whole = rooftree.optimize(SPACE_OF_TWO, evaluator=cost, evaluations=9, seed=2)
    for count in (4, 9):
        with rooftree.SqliteJournal(tmp_path / "run.sqlite") as journal:
            run = rooftree.optimize(
                SPACE_OF_TWO, evaluator=cost, evaluations=count, seed=2, journal=journal
            )
        assert run.evaluations == count
    assert run.record.tree_digest == whole.record.tree_digest


def test_several_in_flight_call_the_function_from_several_threads() -> None:
    threads: set[int] = set()
    barrier = threading.Barrier(2, timeout=10)

    def slow(candidate: Candidate) -> float:
        threads.add(threading.get_ident())
        if candidate.tunables != {"A": 1, "B": 1} and len(threads) < 3:
            barrier.wait()
        return cost(candidate)

    rooftree.optimize(SPACE_OF_TWO, evaluator=slow, evaluations=4, parallel=2)
    assert len(threads) >= 2


@pytest.mark.parametrize(
    ("task", "options", "words"),
    [
        ("no_such_task", {}, "no_such_task"),
        ("transpose", {"evaluator": "replay", "model": "openai/x"}, "give out="),
        ("transpose", {"evaluator": "replay", "where": ["A > 1"]}, "where: "),
        (SPACE_OF_TWO, {}, "give a function or an Evaluator"),
        (SPACE_OF_TWO, {"evaluator": cost, "out": "x"}, "give a journal="),
        (SPACE_OF_TWO, {"evaluator": cost, "model": "openai/x"}, "give a journal="),
        (SPACE_OF_TWO, {"evaluator": 3}, "a name, an Evaluator or a function"),
        (SPACE_OF_TWO, {"evaluator": lambda A, B: A}, "called with one candidate"),
        (SPACE_OF_TWO, {"evaluator": cost, "judging": rooftree.JudgingOptions()}, "judging: "),
        (SPACE_OF_TWO, {"evaluator": cost, "search": "nowhere"}, "nowhere"),
        (SPACE_OF_TWO, {"evaluator": cost, "where": ["A > 1"]}, "excludes the baseline"),
        ({"A": []}, {"evaluator": cost}, "'A' needs a list of values"),
        ({"A B": [1]}, {"evaluator": cost}, "not an identifier"),
    ],
)  # fmt: skip
def test_what_does_not_fit_together_is_said_in_a_line(
    task: Any, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(rooftree.InputError) as told:
        rooftree.optimize(task, **options)
    assert words in str(told.value) and "\n" not in str(told.value)


def test_a_baseline_that_fails_ends_the_run_with_its_reason() -> None:
    def broken(_: Candidate) -> float:
        raise RuntimeError("no device")

    with pytest.raises(rooftree.InputError, match="RuntimeError: no device"):
        rooftree.optimize(SPACE_OF_TWO, evaluator=broken)


def test_a_result_says_itself_in_three_lines_and_shows_its_tree() -> None:
    run = rooftree.optimize(SPACE_OF_TWO, evaluator=cost, evaluations=11)
    assert len(repr(run).splitlines()) == 3 and "8.80x" in repr(run)
    shown = run._repr_html_()
    assert shown.startswith("<pre>") and "<svg" in shown and "<?xml" not in shown
    assert "digraph" in run.tree.source
    rows = run.rows()
    assert len(rows) == 12 and {"A", "B", "time_us", "why"} <= rows[0].keys()
    assert repr(run.best).startswith("Variant(node ")
    assert run.baseline.speedup == 1.0


def test_a_data_frame_has_a_row_for_each_variant() -> None:
    pandas = pytest.importorskip("pandas")
    run = rooftree.optimize(SPACE_OF_TWO, evaluator=cost, evaluations=5)
    frame = run.to_dataframe()
    assert isinstance(frame, pandas.DataFrame) and len(frame) == 6
    assert frame["time_us"].min() == run.best.time_us


def test_without_pandas_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pandas", None)
    run = rooftree.optimize(SPACE_OF_TWO, evaluator=cost, evaluations=2)
    with pytest.raises(rooftree.InputError, match="pip install pandas"):
        run.to_dataframe()


def test_the_best_kernel_stands_alone() -> None:
    run = rooftree.optimize("transpose", evaluator="replay", evaluations=10)
    kernel = run.kernel()
    tile = run.best.tunables["TILE"]
    assert f"default = {tile}" in kernel
    assert isinstance(run, Result)


def test_an_interrupted_run_leaves_its_best_and_its_report_and_goes_on(tmp_path: Path) -> None:
    def stop(progress: rooftree.Progress) -> None:
        if progress.evaluations == 4:
            raise KeyboardInterrupt

    out = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt, match="rooftree resume"):
        rooftree.optimize("transpose", evaluator="replay", evaluations=9, out=out, on_progress=stop)
    assert (out / "report.html").is_file() and (out / "best" / "kernel.cu").is_file()
    assert rooftree.load_run(out).stop_reason == "interrupted"
    whole = rooftree.optimize("transpose", evaluator="replay", evaluations=9)
    assert rooftree.resume(out).record.tree_digest == whole.record.tree_digest


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"evaluations": 0}, "evaluations = 0: at least 1"),
        ({"parallel": 0}, "parallel = 0: at least 1"),
        ({"seed": "q"}, 'seed = "q": a whole number'),
        ({"task": {"a b": [1]}}, "'a b' is not an identifier"),
        ({"task": {"A": [1, 1]}}, "a value is listed twice"),
        ({"task": {"A": 5}}, "tunable 'A' needs a list of values, not 5"),
        ({"proposer": 3}, "proposer: a name or a Proposer, not 3"),
        ({"search": {"a": 1}}, "search: a name"),
        ({"where": "A < 3"}, "where: a list of expressions"),
    ],
)
def test_a_mistake_is_said_in_a_line(words: dict[str, Any], told: str) -> None:
    with pytest.raises(rooftree.InputError, match=re.escape(told)):
        rooftree.optimize(**{"task": SPACE_OF_TWO, "evaluator": cost, **words})
