"""What the methods of a run are worth, through the command line and by replay."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from experiments.app import attributing
from experiments.app import optimize as run_command
from experiments.benchmarks.comparing.runs import read_runs
from experiments.runs.folders.folder import RunFolder
from experiments.runs.folders.journal import SqliteJournal, read_events
from experiments.runs.memory.advice import FollowUp, attributed_follow_ups, follow_ups
from experiments.runs.options.config import CONFIG_FILE, RunConfig
from experiments.runs.options.request import RunRequest
from experiments.runs.tasks.files import TaskSource
from experiments.runs.wiring import composing
from experiments.views.summary import result_of
from mcts.domain import Attribution, Evidence, Finding, Guidance, Hardware
from mcts.errors import InputError, WorldError
from mcts.journal.record import NodeRecord
from mcts.journal.record import Result as Run
from mcts.journal.spending import Spending
from mcts.loop.budget import Budget
from mcts.options import JudgingOptions, Limits, ModelOptions, SearchOptions
from mcts.ports import Event, Proposal, ProposalRequest
from tests.experiments.conftest import (
    ListJournal,
    ModelEvaluator,
    OneStepProposer,
    make_optimizer,
    make_task,
)
from tests.support.commands import completed, failed, json_of, optimized, refused, rooftree
from tests.support.openai_server import AutoModel, OpenAiServer
from tests.support.report_page import ReportPage


@pytest.fixture
def run_dir(toy_folder: Path, tmp_path: Path) -> Path:
    out = tmp_path / "run"
    optimized(toy_folder, out, "--evaluations", 25, "--seed", 3)
    return out


def attributed(run_dir: Path, *words: object) -> dict[str, Any]:
    return json_of("attribute", run_dir, *words)


def events_of(run_dir: Path, kind: str) -> int:
    return sum(event.kind == kind for event in read_events(run_dir))


def test_every_method_on_the_best_path_is_weighed_by_tunable(run_dir: Path) -> None:
    before = result_of(read_events(run_dir))
    found = attributed(run_dir)
    rows = found["attributions"]
    path = before.path_to(before.best)[1:]
    claimed = [(n.id, m) for n in path for m in (n.candidate.methods if n.candidate else ())]
    assert [(row["node"], row["method"]) for row in rows] == claimed and claimed
    assert {row["by"] for row in rows} == {"tunable"} and found["not_weighed"] == 0
    best = max(rows, key=lambda row: row["gain"])
    assert best["worth"] == "effective"
    assert best["gain_low"] <= best["gain"] <= best["gain_high"]
    assert found["spent"]["cost_usd"] == 0.0 and found["spent"]["gpu_s"] is None
    after = result_of(read_events(run_dir))
    assert after.tree_digest == before.tree_digest and after.best.id == before.best.id


def test_a_second_call_measures_nothing_and_says_the_same(run_dir: Path) -> None:
    first = attributed(run_dir)
    measured, written = events_of(run_dir, "measured"), len(read_events(run_dir))
    assert attributed(run_dir)["attributions"] == first["attributions"]
    assert events_of(run_dir, "measured") == measured
    assert len(read_events(run_dir)) == written


def test_the_command_prints_a_line_per_method_and_then_a_table(
    run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    done = completed("attribute", run_dir)
    title = "node method worth gain in machine code taken out by"
    assert " ".join(done.stdout.splitlines()[0].split()).startswith(title)
    assert "effective" in done.stdout and "spent         nothing" in done.stdout
    assert "node " in done.stderr and "effective, +" in done.stderr
    assert ReportPage((run_dir / "report.html").read_text()).data["ablations"]
    closing = rooftree("report", run_dir).stdout
    assert "methods       " in closing and " effective" in closing


def test_methods_that_were_taken_back_are_told_apart(tmp_path: Path) -> None:
    """The search of seed 1 tries a block size and a cache hint on its way, and drops both."""
    run = tmp_path / "run"
    optimized("row_softmax", run, "--evaluations", 30, "--seed", 1)
    (told,) = (
        line
        for line in completed("attribute", run).stdout.splitlines()
        if line.startswith("not in best")
    )
    assert told.split(": ")[0].split(maxsplit=3)[3] == "latency.block_size, memory.cache_hints"
    explained = completed("explain", run).stdout
    (gone,) = (line for line in explained.splitlines() if "Taken back on the way" in line)
    assert "latency.block_size" in gone and "memory.cache_hints" in gone


def test_node_options_choose_the_nodes_to_weigh(run_dir: Path) -> None:
    result = result_of(read_events(run_dir))
    path = {node.id for node in result.path_to(result.best)}
    other = next(n for n in result.nodes[1:] if n.speedup and n.id not in path)
    rows = attributed(run_dir, "--node", other.id, "--node", other.id)["attributions"]
    assert {row["node"] for row in rows} == {other.id}
    assert len(rows) == len(other.candidate.methods if other.candidate else ())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--node", 0), "is the baseline"),
        (("--node", 999), "has no node 999"),
        (("--device", 1), "--device is for evaluator gpu"),
        (("--max-cost", 1), "--max-cost is for the llm proposer"),
    ],
)
def test_an_impossible_request_is_refused(
    run_dir: Path, words: tuple[object, ...], said: str
) -> None:
    refused(rooftree("attribute", run_dir, *words), said)
    assert events_of(run_dir, "attributed") == 0


def test_a_node_that_failed_has_no_methods_to_weigh(run_dir: Path) -> None:
    result = result_of(read_events(run_dir))
    node = next((n.id for n in result.nodes if n.kind == "failed"), None)
    if node is None:
        pytest.skip("no trial of this run failed")
    refused(rooftree("attribute", run_dir, "--node", node), f"node {node} was not measured")


def optimize_and_attribute(folder: Path, out: Path, *, evaluations: int) -> None:
    request = RunRequest(
        task=str(folder),
        judging=JudgingOptions(evaluator="replay"),
        limits=Limits(evaluations=evaluations),
        out=out,
        as_json=True,
    )
    run_command.optimize(request, attribute=True)


def test_optimize_attributes_at_the_end(toy_folder: Path, tmp_path: Path, capsys: Any) -> None:
    optimize_and_attribute(toy_folder, tmp_path / "r", evaluations=20)
    found = json.loads(capsys.readouterr().out)
    assert found["attributions"] and found["attributions"][0]["worth"] in ("effective", "unknown")
    assert attributed(tmp_path / "r")["attributions"] == found["attributions"]


def test_a_failed_attribution_keeps_the_result_of_the_run(
    toy_folder: Path, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise WorldError("the GPU has fallen off the bus")

    monkeypatch.setattr(attributing, "weigh_methods", broken)
    out = tmp_path / "r"
    optimize_and_attribute(toy_folder, out, evaluations=8)
    said = capsys.readouterr()
    assert json.loads(said.out)["attributions"] == []
    assert f"fallen off the bus; go on with: rooftree attribute {out}" in said.err


def test_other_hardware_is_refused(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Hardware(name="another device")
    monkeypatch.setattr("profilers.recordings.replay.ReplayEvaluator.hardware", other)
    failed(rooftree("attribute", run_dir), "not on another device")


def test_a_replay_lets_no_model_write_code(
    toy_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values are all that a model may choose there, and those are set back without it."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    run = tmp_path / "run"
    with OpenAiServer([AutoModel()]) as server:
        words = ("--model", "openai/auto", "--api-base", server.url, "--price", "auto=1,2")
        done = completed("optimize", toy_folder, *words, "--evaluations", 6, "--out", run)
        asked = len(server.requests)
        assert "spent         0." in done.stdout and " tokens" in done.stdout
        found = attributed(run, "--max-cost", 5)
        assert len(server.requests) == asked
    assert found["spent"]["replies"] == 0 and found["run"]["replies"] == asked
    assert found["run"]["cost_usd"] > 0
    assert "cost_usd = 5.0" in (run / CONFIG_FILE).read_text(), "as resume keeps new limits"


class Tricky(OneStepProposer):
    """Claims a method that no tunable exercises."""

    def propose(self, request: ProposalRequest) -> Proposal:
        proposal = super().propose(request)
        claims = {"methods": ("memory.trick",)}
        return replace(proposal, candidate=proposal.candidate.model_copy(update=claims))


@pytest.fixture
def tricky() -> ListJournal:
    """Of a run whose nodes claim a method that no tunable takes out."""
    journal = ListJournal()
    make_optimizer(journal, evaluations=12, proposer=Tricky(), seed=0).run()
    return journal


def weigh_by_model(
    journal: ListJournal, run_dir: Path, server: OpenAiServer, *prices: str, **more: Any
) -> attributing.Weighed:
    """Weighs the methods of a tricky run by a model that writes the variants without them."""
    task = make_task()
    config = RunConfig(
        rooftree="0", task="toy", task_name="toy", run_id="here",
        judging=JudgingOptions(evaluator="gpu"), search=SearchOptions(proposer="llm"),
        model=ModelOptions(name="openai/auto", api_base=server.url, prices=prices),
        limits=Limits(evaluations=12),
    )  # fmt: skip
    return attributing.weigh_methods(
        TaskSource(task=task, given="toy"),
        config,
        evaluator=ModelEvaluator(task),
        journal=journal,
        run_dir=run_dir,
        **more,
    )


def test_a_model_rewrites_what_no_tunable_takes_out_and_is_paid_once(
    tricky: ListJournal, tmp_path: Path
) -> None:
    said: list[str] = []
    with OpenAiServer([AutoModel()]) as server:
        weigh = partial(weigh_by_model, tricky, tmp_path, server, "auto=1,2", say=said.append)
        first = weigh()
        asked = len(server.requests)
        assert asked >= len(first.found) == len(said) > 0
        assert weigh().found == first.found and len(server.requests) == asked
    rewritten = [found for _, found in first.found if found.without is not None]
    assert rewritten and all(found.tunables == () for found in rewritten)
    assert first.spent.replies == len(first.found) and first.spent.cost > 0
    assert first.result.spending.cost == first.spent.cost
    assert all(one.startswith("node ") and "memory.trick" in one for one in said)


PRICE = "auto=1.5,7"
"""US dollars per million tokens of prompts and of replies."""


def worth_of(usages: list[dict[str, Any]]) -> Decimal:
    """What replies cost at `PRICE`, by another hand."""
    millionths = sum(
        Decimal("1.5") * usage["prompt_tokens"] + 7 * usage["completion_tokens"] for usage in usages
    )
    return Decimal(millionths) / 10**6


def usages_of(events: Iterable[Event], kind: str) -> list[dict[str, Any]]:
    return [e.payload["usage"] for e in events if e.kind == kind and e.payload.get("usage")]


def test_removals_of_unknown_cost_are_priced_by_a_later_price(
    tricky: ListJournal, tmp_path: Path
) -> None:
    with OpenAiServer([AutoModel()]) as server:
        weigh = partial(weigh_by_model, tricky, tmp_path, server)
        first = weigh()
        asked = len(server.requests)
        assert first.spent.unpriced == first.spent.replies == asked > 0
        assert first.result.spending.cost == 0
        later = weigh(PRICE)
        assert len(server.requests) == asked and later.found == first.found
    expected = worth_of(usages_of(tricky.events(), "removed"))
    assert later.spent == Spending(), "nothing is spent by pricing"
    assert later.priced == Spending(cost=expected, unpriced=-asked) and expected > 0
    assert first.priced == Spending()
    assert later.result.spending.cost == expected and later.result.spending.unpriced == 0


@pytest.fixture
def asked_unpriced(
    toy_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """A run of a model without a price, with two ablations as a live one would have them."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    run = tmp_path / "asked"
    with OpenAiServer([AutoModel()]) as server:
        words = ("--model", "openai/auto", "--api-base", server.url)
        completed("optimize", toy_folder, *words, "--evaluations", 6, "--out", run)
        asked = len(server.requests)
        with SqliteJournal(RunFolder(run).journal) as journal:
            usage = usages_of(journal.events(), "proposed")[-1]
            for key in ("1:memory.trick", "1:memory.trick try 2"):
                said = {"key": key, "candidate": None, "reason": "cut off", "usage": usage}
                journal.append("removed", {**said, "failed": True, "seconds": 0.1})
        yield run
        assert len(server.requests) == asked, "a price asks nobody anything"


def costs_of(run: Path) -> list[Decimal | None]:
    """The cost of a run by each who says it, None where they do not know."""
    (compared,) = read_runs([str(run)])
    completed("report", run)
    page = ReportPage((run / "report.html").read_text())
    shown = page.data["account"][-1]["cost_usd"]
    told = [result_of(read_events(run)).spending.cost_usd, compared.cost_usd, shown]
    return [None if one is None else Decimal(str(one)) for one in told]


def test_a_resumed_run_prices_its_removals_and_all_views_agree(
    asked_unpriced: Path,
) -> None:
    run = asked_unpriced
    kinds = ("proposed", "rejected", "abandoned", "no_moves", "removed")
    usages = [usage for kind in kinds for usage in usages_of(read_events(run), kind)]
    replies, expected = sum(usage["replies"] for usage in usages), worth_of(usages)
    assert costs_of(run) == [0, None, 0] and replies > 6
    assert "unknown cost" in rooftree("report", run).stdout
    for _ in range(2):
        said = json_of("resume", run, "--price", PRICE, "--max-cost", 5)
        assert (Decimal(str(said["cost_usd"])), said["unpriced"]) == (expected, 0)
        assert costs_of(run) == [expected] * 3
        assert events_of(run, "removal_priced") == 2
    assert "unknown" not in rooftree("report", run).stdout
    more = json_of("resume", run, "--max-cost", expected, "--evaluations", 9)
    assert more["stop_reason"] == "money spent"
    assert costs_of(run) == [expected] * 3


def test_attribute_reports_what_it_priced_of_earlier_replies(
    asked_unpriced: Path, tmp_path: Path
) -> None:
    run, copy = asked_unpriced, tmp_path / "copy"
    shutil.copytree(run, copy)
    before = result_of(read_events(run)).spending
    found = attributed(run, "--price", PRICE)
    assert found["spent"]["replies"] == found["spent"]["unpriced"] == 0
    assert found["spent"]["cost_usd"] == 0.0
    cost = found["run"]["cost_usd"]
    assert found["priced"] == {"replies": before.unpriced, "cost_usd": cost} and cost > 0
    assert attributed(run, "--price", PRICE)["priced"] == {"replies": 0, "cost_usd": 0.0}
    words = " ".join(rooftree("attribute", copy, "--price", PRICE).stdout.split())
    assert "spent nothing" in words
    assert f"priced {before.unpriced} earlier replies at {cost:.4f} USD" in words


def test_a_price_whose_writing_was_cut_off_is_written_again(
    asked_unpriced: Path, tmp_path: Path
) -> None:
    """What a power cut leaves of the last append: a part of its frame in the write-ahead log."""
    run, copy = asked_unpriced, tmp_path / "cut"
    with SqliteJournal(RunFolder(run).journal) as journal:
        log = RunFolder(run).journal.with_name("run.sqlite-wal")
        journal.append("removal_priced", {"key": "1:memory.trick", "cost_usd": 0.5})
        whole = log.stat().st_size
        journal.append("removal_priced", {"key": "1:memory.trick try 2", "cost_usd": 0.5})
        shutil.copytree(run, copy)
    with (copy / log.name).open("r+b") as file:
        file.truncate((whole + file.seek(0, 2)) // 2)
    assert events_of(copy, "removal_priced") == 1
    shutil.rmtree(run)
    copy.rename(run)
    before = result_of(read_events(run)).spending
    completed("resume", run, "--price", PRICE)
    last = [e.payload for e in read_events(run) if e.kind == "removal_priced"]
    assert [one["key"] for one in last] == ["1:memory.trick", "1:memory.trick try 2"]
    usages = usages_of(read_events(run), "removed")
    assert Decimal(str(last[1]["cost_usd"])) == worth_of(usages[1:])
    after = result_of(read_events(run)).spending
    assert before.unpriced and not after.unpriced


def test_a_spent_cap_is_named(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = result_of(read_events(run_dir))
    claimed = sum(len(n.candidate.methods) for n in result.path_to(result.best) if n.candidate)

    class Spent(Budget):
        def exhausted(self, _spending: object) -> str | None:
            return "money spent"

    monkeypatch.setattr(composing, "budget_of", lambda _config: Spent(evaluations=1))
    done = completed("attribute", run_dir)
    baseline = result.baseline.candidate
    claimed -= len(baseline.methods if baseline else ())
    assert f"not weighed   {claimed} methods: money spent; raise the cap" in done.stdout
    assert attributed(run_dir)["stopped"] == "money spent"


# What it teaches the tools' memory.


def taught(result: Run, *attributions: Attribution, methods: tuple[str, ...]) -> list[FollowUp]:
    """The follow-ups of a run of two nodes, whose child claims `methods` that its tools advised."""
    measured = [n for n in result.nodes if n.kind == "measured"]
    root, child = result.baseline, next(n for n in measured if n.parent == 0)
    findings = tuple(
        Finding(
            tool=f"tool_{method.partition('.')[2]}",
            axis="memory",
            strength=0.5,
            evidence=(Evidence(metric="m", value=1, threshold=0),),
            advice="do it",
            methods=(method,),
        )
        for method in methods
    )
    assert child.candidate is not None
    nodes: tuple[NodeRecord, ...] = (
        replace(root, guidance=Guidance(findings=findings)),
        replace(
            child,
            candidate=child.candidate.model_copy(update={"methods": methods}),
            attributions=attributions,
        ),
    )
    return list(attributed_follow_ups(replace(result, nodes=nodes)))


def weighed(method: str, gain: float, realised: bool | None = None) -> Attribution:
    worth = "effective" if gain > 0 else "ineffective"
    return Attribution(
        candidate_id="c",
        method=method,
        worth="implementation_failed" if realised is False else worth,  # type: ignore[arg-type]
        gain=gain,
        gain_low=gain - 0.01,
        gain_high=gain + 0.01,
        realised=realised,
    )


def test_advice_is_credited_with_its_own_methods_gain(result: Run) -> None:
    methods = ("memory.a", "memory.b", "memory.c")
    alike = taught(result, methods=methods)
    assert len({found.gain for found in alike}) == 1, "without attribution all share the gain"
    own = taught(result, weighed("memory.a", 0.5), weighed("memory.b", 0.0), methods=methods)
    assert [found.gain for found in own] == [1.5, 1.0, alike[0].gain]
    assert [found.outcome for found in own][:2] == ["improved", "neutral"]


def test_advice_that_the_machine_code_never_shows_was_not_followed(result: Run) -> None:
    unseen = weighed("memory.a", 0.5, realised=False)
    found = taught(result, unseen, methods=("memory.a", "memory.b"))
    assert [one.tool for one in found] == ["tool_b"]


def test_follow_ups_are_unchanged_without_attribution(result: Run) -> None:
    assert list(attributed_follow_ups(result)) == list(follow_ups(result))


def test_the_best_path_is_chosen_and_the_baseline_refused(result: Run) -> None:
    assert attributing.choose(result, ()) == result.path_to(result.best)
    with pytest.raises(InputError, match="baseline"):
        attributing.choose(result, [0])
