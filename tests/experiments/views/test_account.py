"""What a run says of its money, tokens and time, of its branches, and of what methods are worth."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from experiments.live import Panel, PlainLines
from experiments.text.spending import caps_text, money_text, spending_text
from experiments.text.worth import attributed, counts_text, gain_text, one_line
from experiments.views import summary
from experiments.views.branching import Tried, branch_rows, read_branches
from experiments.views.closing import closing_words
from experiments.views.figures import branching_words
from experiments.views.report.account import account_rows, usage_rows
from experiments.views.summary import RunFacts, as_json, write_outputs
from experiments.views.tree.drawing import tree_source
from experiments.views.tree.render import find_dot, render
from mcts.attribution.attributor import Attributor
from mcts.domain import Attribution, Candidate
from mcts.journal.record import Result, read_result
from mcts.journal.spending import NOTHING, Spending
from mcts.journal.summary import RunSummary, Spent
from mcts.loop.budget import Budget
from mcts.ports import Proposal, ProposalRequest
from mcts.testing.toy import MemoryJournal, ToyEvaluator, toy_task
from tests.experiments.conftest import make_progress
from tests.mcts.attribution.test_attribution import Rewriter
from tests.mcts.journal.paid import CENTS, PaidToy, optimizer
from tests.support.report_page import ReportPage

EVIL = "<script>alert(1)</script>"


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        ("0", "0.00 USD"),
        ("12.3456", "12.35 USD"),
        ("1234.5", "1,234.50 USD"),
        ("0.0123", "0.0123 USD"),
        ("0.00001", "under 0.0001 USD"),
    ],
)
def test_money_is_told_to_the_cent_and_small_sums_to_more(amount: str, text: str) -> None:
    assert money_text(Decimal(amount)) == text


@pytest.mark.parametrize(
    ("spending", "text"),
    [
        (NOTHING, ""),
        (Spending(gpu_s=12.34), ""),
        (Spending(cost=Decimal("0.5"), tokens=1200, replies=2), "0.5000 USD, 1,200 tokens"),
        (Spending(tokens=1200, replies=2, unpriced=2), "unknown cost, 1,200 tokens"),
        (Spending(replies=1, unpriced=1, uncounted=1), "unknown cost, unknown tokens"),
        (
            Spending(cost=Decimal(2), tokens=10, replies=3, unpriced=1, uncounted=2),
            "2.00 USD, and the unknown cost of 1 of 3 replies, "
            "at least 10 tokens (2 of 3 replies did not say)",
        ),
    ],
)
def test_unknown_spending_is_said_to_be_unknown(spending: Spending, text: str) -> None:
    assert spending_text(spending, replayed=True) == text


def test_gpu_time_is_told_of_live_runs_alone() -> None:
    spent = Spending(gpu_s=1234.56)
    assert spending_text(spent, replayed=False) == "1,234.6 s of GPU"
    assert spending_text(NOTHING, replayed=False) == "unknown GPU time"
    assert Spent.of(spent, replayed=False).gpu_s == 1234.56
    assert Spent.of(spent, replayed=True).gpu_s is None


def test_json_says_null_for_what_is_not_known() -> None:
    free = Spent.of(NOTHING, replayed=True)
    assert (free.cost_usd, free.replies) == (0.0, 0)
    unknown = Spent.of(Spending(replies=2, unpriced=2, uncounted=2), replayed=True)
    assert unknown.cost_usd is None and unknown.tokens is None


def test_caps_are_named_in_what_they_are_measured_in() -> None:
    caps = Budget(evaluations=1, cost_usd=0.5, tokens=20_000, gpu_minutes=1.5)
    assert caps_text(caps) == "0.5 USD, 20,000 tokens, 90 s of GPU"
    assert caps_text(Budget(evaluations=1)) == ""


# A run whose model writes markup wherever it can.


class Evil(PaidToy):
    def propose(self, request: ProposalRequest) -> Proposal:
        proposal = super().propose(request)
        usage = {
            **proposal.usage,
            "prompt": "optimize/3",
            "model": f"toy {EVIL}",
            "dropped": {"lesson": 3, EVIL: 1},
            "seconds": 1.5,
            "attempts": 4,
            "asked": EVIL,
        }
        candidate = proposal.candidate.model_copy(update={"rationale": EVIL})
        return Proposal(candidate=candidate, branches=proposal.branches, usage=usage)


@pytest.fixture(scope="module")
def journal() -> MemoryJournal:
    found = MemoryJournal()
    result = optimizer(found, Evil(branches=3, rejects=9), evaluations=25).run()
    attributor = Attributor(
        task=toy_task(),
        evaluator=ToyEvaluator(),
        journal=found,
        ablator=Rewriter(fails="toy.unroll"),
        signatures={"toy.tile": lambda _profile: False},
    )
    attributor.nodes(result, result.nodes[:12])
    return found


@pytest.fixture(scope="module")
def account(journal: MemoryJournal) -> tuple[RunFacts, Result]:
    events = tuple(journal.events())
    return summary.facts_of(events), read_result(events)


@pytest.fixture(scope="module")
def page(account: tuple[RunFacts, Result], tmp_path_factory: pytest.TempPathFactory) -> ReportPage:
    folder = tmp_path_factory.mktemp("run")
    return ReportPage(write_outputs(folder, *account).report.read_text())


def test_the_costs_of_the_prompts_and_the_rest_add_up(
    page: ReportPage, journal: MemoryJournal
) -> None:
    spending = read_result(journal.events()).spending
    assert spending.cost == Decimal(str(CENTS)) * spending.replies
    rows = page.data["account"]
    amounts = [Decimal(row["cost_usd"]) for row in rows]
    assert amounts[-1] == sum(amounts[:-1]) == spending.cost
    assert rows[-1]["tokens"] == f"{spending.tokens:,} tokens"
    named = [row["prompt"] for row in rows]
    assert named[-2:] == ["trials that came to no node, and attribution", "in all"]
    assert "optimize/3" in named[:-2]


def test_no_markup_of_the_model_reaches_the_page(page: ReportPage) -> None:
    assert EVIL not in page.text
    assert f"toy {EVIL}" in {row["model"] for row in page.data["account"]}
    usages = [dict(page.detail(node).get("usage", ())) for node in page.data["nodes"]["id"]]
    told = next(usage for usage in usages if usage.get("model") == f"toy {EVIL}")
    assert told["left out of the prompt"] == f"3 lesson, 1 {EVIL}" and told["asked"] == EVIL


def test_an_odd_usage_is_shown_as_far_as_it_can_be_read(account: tuple[RunFacts, Result]) -> None:
    result = account[1]
    odd: dict[str, Any] = {
        "model": ["x"], "prompt": {"a": 1}, "dropped": "all", "cost_usd": "many", "attempts": None,
        "prompt_tokens": "few", "cached": True, "replies": "two", "seconds": True,
    }  # fmt: skip
    nodes = tuple(replace(node, usage=odd) for node in result.nodes)
    rows = account_rows(replace(result, nodes=nodes))
    assert rows[0]["model"] == "unknown" and rows[0]["seconds"] == 0
    told = dict(usage_rows(nodes[1]))
    assert told["model"] == "unknown" and told["tokens read"] == "unknown"
    assert told["from the cache"] == "yes"


def test_what_a_node_cost_is_told_with_what_is_not_known_of_it(
    account: tuple[RunFacts, Result],
) -> None:
    node = account[1].nodes[1]
    usage = {**node.usage, "models": ["cheap", "dear"]}
    spending = Spending(cost=Decimal("0.25"), tokens=10, replies=3, unpriced=2)
    told = dict(usage_rows(replace(node, usage=usage, spending=spending)))
    assert told["model"] == "cheap, dear"
    assert told["cost"] == "0.2500 USD, and the unknown cost of 2 of 3 replies"
    rows = account_rows(replace(account[1], nodes=(replace(node, usage=usage),)))
    assert rows[0]["model"] == "cheap, dear"


def test_the_page_says_beside_a_node_what_it_cost(page: ReportPage) -> None:
    found = page.detail(1)["search"]
    assert found["cost"] == f"{CENTS:.4f} USD"


def test_the_tree_is_drawn_whatever_the_model_wrote(
    account: tuple[RunFacts, Result], tmp_path: Path
) -> None:
    result = account[1]
    again = next(n.id for n in result.nodes[1:] if n.kind == "measured")
    nodes = tuple(replace(n, restarted=n.restarted or n.id == again) for n in result.nodes)
    source = tree_source(replace(result, nodes=nodes), title="toy").source
    assert "best of " in source and "branch taken up again" in source
    assert "USD" in source
    if find_dot() is None:
        pytest.skip("neither dot nor graphviz-pure is installed")
    render(source, tmp_path / "tree.svg")
    drawn = (tmp_path / "tree.svg").read_text()
    assert "</svg>" in drawn and EVIL not in drawn


def test_branches_are_told_with_their_values_and_times(
    account: tuple[RunFacts, Result], page: ReportPage, journal: MemoryJournal
) -> None:
    facts, result = account
    assert facts.branches == read_branches(journal.events())
    node = next(node for node in result.nodes if node.branches and node.kind == "measured")
    rows = branch_rows(node, facts.branches[node.id])
    assert len(rows) == len(node.branches) + 1
    assert all(values.startswith("UNROLL = ") for values, _, _ in rows)
    assert [fate for _, _, fate in rows] == ["kept"] + [""] * len(node.branches)
    assert re.match(r"\d+\.\d\d us, \d+\.\d\dx", rows[0][1])
    assert page.detail(node.id)["branches"][0][1] == rows[0][1]
    assert re.search(r"\d+ more values of \d+ proposals measured, \d+ taken", page.seen)
    assert branching_words(RunSummary.of(facts, replace(result, nodes=result.nodes[:1]))) == ""


def test_branches_of_a_python_file_differ_in_its_marked_constants(
    account: tuple[RunFacts, Result],
) -> None:
    node = account[1].best

    def file(block: int) -> Candidate:
        return Candidate(source=f"BLOCK = {block}  # tunable: 128, 256\n\nclass ModelNew: ...\n")

    rows = branch_rows(replace(node, candidate=file(128)), (Tried(file(256), None),))
    assert [row[:2] for row in rows][1] == ("BLOCK = 256", "not measured")
    assert rows[0][0] == "BLOCK = 128"


def test_the_closing_words_tell_what_was_spent_and_what_methods_are_worth(
    account: tuple[RunFacts, Result], tmp_path: Path
) -> None:
    facts, result = account
    words = "\n".join(closing_words(facts, result, write_outputs(tmp_path, *account), tmp_path))
    assert f"spent         {money_text(result.spending.cost)}, " in words
    assert f"methods       {counts_text(found for _, found in attributed(result.nodes))}" in words
    assert "implementation failed" in words and "branches      " in words
    found = as_json(facts, result, tmp_path)
    assert found["cost_usd"] == pytest.approx(CENTS * found["replies"])
    assert found["restarts"] == sum(node.restarted for node in result.nodes)
    assert {row["worth"] for row in found["attributions"]} >= {"implementation_failed", "effective"}


def test_methods_stand_in_the_report_with_gain_and_proof(page: ReportPage) -> None:
    rows = page.data["ablations"]
    assert "implementation failed" in {row["worth"] for row in rows}
    assert "toy.tile" in {row["method"] for row in rows}
    assert "the proposer" in {row["by"] for row in rows}
    gains = [row["text"] for row in rows if row["gain"] is not None]
    assert all(re.fullmatch(r"[+-]\d+\.\d % \([+-]\d+\.\d to [+-]\d+\.\d\)", g) for g in gains)
    assert gains and page.detail(rows[0]["node"])["attributions"]


def test_a_run_without_model_branches_and_attribution_has_none_of_it(
    result: Result, tmp_path: Path
) -> None:
    facts = RunFacts(task="toy", evaluator="replay", proposer="p", hardware="h", seed=1)
    outputs = write_outputs(tmp_path, facts, result)
    page = ReportPage(outputs.report.read_text())
    assert page.data["account"] == [] and page.data["ablations"] == []
    assert "Spent" not in dict(page.data["facts"])
    assert not any("branches" in page.detail(node.id) for node in result.nodes)
    words = "\n".join(closing_words(facts, result, outputs, tmp_path))
    assert not re.search("^(spent|branches|methods) ", words, re.MULTILINE)


def test_a_worth_in_one_line() -> None:
    found = Attribution(
        candidate_id="c", method="m", worth="effective", gain=0.25, gain_low=0.2, gain_high=0.3
    )
    assert gain_text(found) == "+25.0 % (+20.0 to +30.0)"
    assert one_line(3, found) == "node 3, m: effective, +25.0 % (+20.0 to +30.0)"
    unknown = Attribution(candidate_id="c", method="m", worth="unknown", note="no\nway")
    assert gain_text(unknown) == "" and one_line(1, unknown) == "node 1, m: unknown: no way"


# While it goes.


def test_the_panel_and_the_lines_tell_what_was_spent() -> None:
    spent = Spending(cost=Decimal("0.0246"), tokens=260, gpu_s=3.25, replies=2)
    now = make_progress(spending=spent, caps=Budget(evaluations=9, cost_usd=0.5))
    out = io.StringIO()
    panel = Panel(title="toy", minutes=None, clock=lambda: 0.0)
    panel.take(now)
    Console(file=out, width=120).print(panel.render(width=120))
    assert "spent  0.0246 USD, 260 tokens, 3.2 s of GPU " in out.getvalue()
    assert "at most  0.5 USD " in out.getvalue()
    lines = io.StringIO()
    PlainLines(lines, clock=lambda: 0.0)(now)
    assert "  0.0246 USD  node 2" in lines.getvalue()


def test_a_replay_without_a_model_has_nothing_to_tell() -> None:
    out = io.StringIO()
    panel = Panel(title="toy", minutes=None, replayed=True, clock=lambda: 0.0)
    panel.take(make_progress(spending=Spending(gpu_s=0.5)))
    Console(file=out, width=100).print(panel.render(width=100))
    assert "spent" not in out.getvalue()
