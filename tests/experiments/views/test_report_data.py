"""What the report says of methods, tools, failures, money, the course and the roofline."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from codegen.chat.cache import AnswerStore
from codegen.chat.messages import Reply
from codegen.chat.request import Route
from experiments.runs.options.config import CONFIG_FILE, RunConfig, write_config
from experiments.views.report.columns import changed_words, columns
from experiments.views.report.conversations import read_conversations
from experiments.views.report.data import language_of, page_data
from experiments.views.report.details import detail
from experiments.views.report.methods import claimed_rows
from experiments.views.report.outcomes import failure_rows, reason_of, status_of
from experiments.views.report.packing import Packer
from experiments.views.report.progress import progress_of, progress_without_journal
from experiments.views.report.roofs import place_of
from experiments.views.report.tools import tool_rows
from mcts.domain import AxisGap, Guidance, KernelProfile, Metric, Profile, Roofline
from mcts.domain import metrics as m
from mcts.domain.evaluation import ShapeTiming
from mcts.journal.record import Result
from mcts.journal.summary import Provenance
from mcts.options import JudgingOptions, ModelOptions, SearchOptions
from mcts.ports import Event
from tests.experiments.conftest import ListJournal
from tests.support.large_run import large_result

RUN = Provenance(task="toy", evaluator="gpu", hardware="h", proposer="p", seed=0)


@pytest.fixture(scope="module")
def large() -> Result:
    return large_result(300)


def test_progress_is_in_the_order_of_results_with_the_spending_so_far() -> None:
    def reply(trial: int, cost: float) -> Event:
        usage = {"model": "m", "cost_usd": cost}
        return Event(0, "proposed", {"trial": trial, "candidate": {}, "usage": usage})

    def told(trial: int, elapsed: float) -> Event:
        return Event(0, "told", {"trial": trial, "elapsed_s": elapsed})

    measured = Event(0, "measured", {"trial": 1, "seconds": 2.5})
    priced = Event(0, "priced", {"trial": 3, "cost_usd": 0.25})
    events = [
        told(0, 0.1),
        reply(1, 0.5),
        reply(2, 0.1),
        measured,
        told(2, 3.0),
        priced,
        told(1, 4.0),
    ]
    points = progress_of(events)
    assert [point.node for point in points] == [0, 2, 1]
    assert [point.cost_usd for point in points] == [0.0, 0.6, 0.85]
    assert [point.elapsed_s for point in points] == [0.1, 3.0, 4.0]
    assert [point.judged_s for point in points] == [0.0, 2.5, 2.5]


def test_a_journal_gives_a_point_per_node(finished: tuple[ListJournal, Result]) -> None:
    journal, result = finished
    points = progress_of(journal.kept)
    assert sorted(point.node for point in points) == [node.id for node in result.nodes]
    assert [p.elapsed_s for p in points] == sorted(p.elapsed_s or 0.0 for p in points)


def test_without_a_journal_money_is_known_and_time_is_not(large: Result) -> None:
    points = progress_without_journal(large.nodes)
    assert points[-1].cost_usd == pytest.approx(3.0) and points[-1].elapsed_s is None
    data = page_data(run=RUN, result=large, branches={})
    assert data.table["course"]["elapsed_s"] is None
    replayed = page_data(run=replace(RUN, evaluator="replay"), result=large, branches={})
    assert replayed.table["course"]["judged_s"] is None


def test_columns_are_as_long_as_the_run_and_point_at_names(large: Result) -> None:
    table = columns(large, {node.id: node.id for node in large.nodes}, given_up={2, 5})
    assert [at for at, mark in enumerate(table["given_up"]) if mark] == [2, 5]
    names = {"status_names", "method_names", "bound_names"}
    assert {len(values) for name, values in table.items() if name not in names} == {300}
    statuses = [table["status_names"][number] for number in table["status"]]
    assert statuses == [status_of(node) for node in large.nodes]
    assert {"measured", "duplicate", "compile failed"} <= set(statuses)


def test_what_changed_names_tunables_and_code(large: Result) -> None:
    before = large.baseline.candidate
    assert before is not None
    same = before.model_copy(update={"tunables": {**before.tunables, "BLOCK": 7}})
    assert changed_words(before, same) == [f"BLOCK {before.tunables['BLOCK']} → 7"]
    assert changed_words(before, before.model_copy(update={"source": "x"})) == ["code"]
    assert changed_words(None, before) == []


def test_failures_are_counted_by_kind_and_by_what_was_said(large: Result) -> None:
    rows = failure_rows(large.nodes)
    failed = [node for node in large.nodes if node.kind == "failed"]
    assert sum(row["count"] for row in rows) == len(failed)
    assert [row["count"] for row in rows] == sorted((r["count"] for r in rows), reverse=True)
    # The messages differ in the line alone, so that each kind has one.
    assert all(len(row["messages"]) == 1 for row in rows)
    assert all(row["messages"][0]["count"] == row["count"] for row in rows)
    first = next(node for node in failed if node.id == rows[0]["messages"][0]["node"])
    assert rows[0]["messages"][0]["text"] == reason_of(first)


def test_a_variant_that_slows_a_shape_is_said_to_be_held_back(large: Result) -> None:
    best = large.best
    assert best.evaluation is not None and best.evaluation.timing is not None
    timing = best.evaluation.timing
    common = timing.model_dump(include=set(ShapeTiming.model_fields) - {"workload", "weight"})
    slow = {**common, "speedup": 0.6, "speedup_low": 0.5, "speedup_high": 0.7}
    shapes = (
        ShapeTiming(workload="large", weight=0.75, **common),
        ShapeTiming(workload="small", weight=0.25, **slow),
    )
    timed = timing.model_copy(update={"shapes": shapes})
    evaluation = best.evaluation.model_copy(update={"timing": timed})
    node = replace(best, evaluation=evaluation)
    assert reason_of(node) == "held back, slower on small" and status_of(node) == "measured"
    told = detail(node, Packer())["evaluation"]["timing"]["shapes"]
    assert [(each["workload"], each["speedup"]) for each in told][1] == ("small", 0.6)


def test_methods_are_counted_against_parents(large: Result) -> None:
    path = large.path_to(large.best)
    rows = claimed_rows(large, [node.id for node in path])
    measured = [n for n in large.nodes[1:] if n.kind == "measured"]
    assert sum(row["nodes"] for row in rows) == sum(len(n.candidate.methods) for n in measured)  # type: ignore[union-attr]
    for row in rows:
        assert row["nodes"] == row["faster"] + row["even"] + row["slower"] + row["failed"]
    on_path = {name for node in path for name in node.candidate.methods}  # type: ignore[union-attr]
    assert {row["method"] for row in rows if row["on_best_path"]} == on_path


def test_tools_are_compared_with_the_children_that_followed_them(large: Result) -> None:
    rows = {row["tool"]: row for row in tool_rows(large)}
    spoke = [f.tool for n in large.nodes if n.guidance for f in n.guidance.findings]
    assert {tool: row["spoke"] for tool, row in rows.items()} == {t: spoke.count(t) for t in spoke}
    for row in rows.values():
        outcomes = ("improved", "neutral", "regressed", "failed")
        assert row["followed"] == sum(row[name] for name in outcomes)
        assert row["expected"] == 1.2 and row["pairs"] <= row["followed"]


def test_a_variants_place_follows_from_its_counters(large: Result) -> None:
    node = large.best
    assert node.evaluation is not None and node.evaluation.timing is not None
    roofline = Roofline(
        bound="memory", level="DRAM", confidence=1, near_peak=False, method_budget={},
        gap=AxisGap(compute=1, memory=0, latency=0), intensity_flop_per_byte=2.0,
        achieved_tflop_per_s=3.0,
    )  # fmt: skip
    placed = replace(node, guidance=Guidance(roofline=roofline))
    by_work = place_of(placed)
    assert by_work is not None and by_work.intensity == 2.0 and not by_work.counted
    flops = 3.0 * 1e6 * node.evaluation.timing.median_us
    moved = {m.DRAM_READ_BYTES: Metric(value=flops), m.DRAM_WRITE_BYTES: Metric(value=flops)}
    profile = Profile(kernels=(KernelProfile(name="k", launches=2, metrics=moved),))
    counted = replace(placed, evaluation=node.evaluation.model_copy(update={"profile": profile}))
    place = place_of(counted)
    assert place is not None and place.counted and place.rate == 3.0
    assert place.intensity == pytest.approx(0.25)
    assert place_of(replace(node, guidance=None)) is None


def test_sources_are_read_in_the_language_of_the_baseline(large: Result, tmp_path: Path) -> None:
    assert language_of(large, None) == "cuda"
    python = large.baseline.candidate.model_copy(update={"source": "import torch\n"})  # type: ignore[union-attr]
    nodes = (replace(large.baseline, candidate=python), *large.nodes[1:])
    assert language_of(replace(large, nodes=nodes), None) == "python"
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "problem.py").touch()
    assert language_of(large, tmp_path) == "python"


def asked(seed: int, trial: int) -> Event:
    return Event(0, "asked", {"trial": trial, "parent": 0, "seed": seed})


def run_folder(folder: Path, *, cache: Path | None = None) -> None:
    config = RunConfig(
        rooftree="0", task="toy", task_name="toy", run_id="mine",
        judging=JudgingOptions(evaluator="gpu"), search=SearchOptions(proposer="llm"),
        model=ModelOptions(cache=cache),
    )  # fmt: skip
    write_config(folder / CONFIG_FILE, config)


def keep(path: Path, *, seed: int, text: str, run_id: str) -> None:
    store = AnswerStore(path)
    request = Route("m").request(
        [{"role": "user", "content": f"question {text}"}], max_tokens=1, temperature=0, seed=seed
    )
    store.keep(request, Reply(text=text, model="m"), run_id=run_id)
    store.close()


def test_questions_are_found_by_their_seeds_in_the_runs_own_cache(tmp_path: Path) -> None:
    run_folder(tmp_path)
    keep(tmp_path / "llm_cache.sqlite", seed=11, text="first", run_id="mine")
    keep(tmp_path / "llm_cache.sqlite", seed=11, text="repaired", run_id="mine")
    keep(tmp_path / "llm_cache.sqlite", seed=99, text="for nobody", run_id="mine")
    asked_of = read_conversations(tmp_path, [asked(11, 1), asked(12, 2)])
    assert set(asked_of) == {1}
    texts = [[each.text for each in one.messages] for one in asked_of[1]]
    assert texts == [["question first", "first"], ["question repaired", "repaired"]]


def test_a_run_owns_only_the_answers_it_paid_for_in_a_shared_cache(tmp_path: Path) -> None:
    shared, run = tmp_path / "shared.sqlite", tmp_path / "run"
    run.mkdir()
    run_folder(run, cache=shared)
    keep(shared, seed=11, text="of another task", run_id="other")
    keep(shared, seed=12, text="ours", run_id="mine")
    assert set(read_conversations(run, [asked(11, 1), asked(12, 2)])) == {2}


def test_missing_conversations_are_left_out(tmp_path: Path) -> None:
    assert read_conversations(tmp_path, [asked(11, 1)]) == {}
    run_folder(tmp_path, cache=tmp_path / "gone.sqlite")
    assert read_conversations(tmp_path, [asked(11, 1)]) == {}
    (tmp_path / "gone.sqlite").write_bytes(b"this is no database")
    assert read_conversations(tmp_path, [asked(11, 1)]) == {}
