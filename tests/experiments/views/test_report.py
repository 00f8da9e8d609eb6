"""The report as a file: what it lets run, what it holds, and what it says of unfinished runs."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from codegen.plan_text import file_text
from experiments.views.report import assets
from experiments.views.report.page import report_html
from experiments.views.report.text import SOURCE_LIMIT, shown
from experiments.views.summary import facts_of, result_of, write_outputs
from mcts.journal.record import Result
from mcts.journal.summary import Provenance
from mcts.ports import Event
from tests.experiments.conftest import ListJournal
from tests.support.hostile_run import HOSTILE, hostile_result
from tests.support.large_run import large_result
from tests.support.report_page import ReportPage

RUN = Provenance(task="toy", evaluator="model", proposer="one step", hardware="Paper GPU", seed=0)


def page_of(result: Result, *, svg: bytes | None = None, run_dir: Path | None = None) -> ReportPage:
    return ReportPage(report_html(run=RUN, result=result, svg=svg, run_dir=run_dir))


class Collector(HTMLParser):
    """Tags, the types of scripts, and every attribute that could load or run something."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag == "script":
            self.scripts.append(dict(attrs).get("type") or "run")


def collected(page: ReportPage) -> Collector:
    seen = Collector()
    seen.feed(page.text)
    return seen


def test_only_its_own_scripts_run_and_nothing_is_loaded(result: Result) -> None:
    page = page_of(result, svg=b"<svg/>")
    seen = collected(page)
    assert seen.scripts.count("run") == len(assets.scripts())
    assert set(seen.scripts) == {"run", "application/json", "application/octet-stream"}
    assert all(link.startswith("data:image/svg+xml;base64,") for link in seen.links)
    assert not any(name.startswith("on") or name == "style" for name in seen.attributes)


def test_the_policy_names_every_script_and_style_by_its_hash(result: Result) -> None:
    page = page_of(result)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page.text)
    assert policy is not None
    rules = dict(rule.strip().split(" ", 1) for rule in policy[1].split(";"))
    assert rules["default-src"] == "'none'" and rules["img-src"] == "data:"
    assert rules["trusted-types"] == "'none'" and rules["base-uri"] == "'none'"
    run = re.findall(r"<script>(.*?)</script>", page.text, re.DOTALL)
    styles = re.findall(r"<style>(.*?)</style>", page.text, re.DOTALL)
    assert rules["script-src"].split() == [assets.source_hash(text) for text in run]
    assert rules["style-src"].split() == [assets.source_hash(text) for text in styles]


def test_hostile_text_stays_text_all_over_the_page() -> None:
    page = page_of(hostile_result())
    calm = collected(page_of(large_result(21)))
    seen = collected(page)
    assert seen.tags == calm.tags | {"li"} and seen.attributes == calm.attributes
    assert len([kind for kind in seen.scripts if kind == "run"]) == len(assets.scripts())
    assert "<img src=x" not in page.text and "\x1b" not in page.text and "\x00" not in page.text
    assert not any(sign in page.text for sign in "\u202e\u2066\u2028\u2029\ufeff")
    assert "&lt;script&gt;window.hacked" in page.seen and "⟨ESC⟩[31mred" in page.source(0)


def test_megabytes_of_text_are_cut_and_said_to_be() -> None:
    page = page_of(hostile_result())
    assert "more characters not shown]" in page.source(1)
    assert len(page.source(1)) < 250_000
    assert len(page.text) < 3_000_000
    shown = page.detail(1)["evaluation"]
    assert "more characters not shown]" in shown.get("message", shown["build"]["log"])


def test_equal_sources_are_kept_once(result: Result) -> None:
    page = page_of(result)
    numbers = {page.detail(node.id)["source"] for node in result.nodes if node.candidate}
    assert len(numbers) == len({n.candidate.source for n in result.nodes if n.candidate})


def test_without_scripts_the_main_facts_are_there(result: Result) -> None:
    page = page_of(result)
    timing = result.best.evaluation.timing if result.best.evaluation else None
    assert timing is not None
    for words in (
        f"{timing.speedup:.2f}×", "Paper GPU", "Best candidate", "too many &lt;registers&gt;",
        f"All {len(result.nodes)} nodes.",
    ):  # fmt: skip
        assert words in page.seen
    assert page.seen.count("<tr class=") == len(result.nodes)
    best = result.best.candidate
    assert best is not None and shown(file_text(best), SOURCE_LIMIT) in html.unescape(page.seen)
    many = page_of(large_result(300))
    assert "The first 100 of 300 nodes." in many.seen and many.seen.count("<tr class=") == 100


@pytest.mark.parametrize("share", [0.05, 0.5, 1.0])
def test_a_run_is_shown_however_far_it_came(
    finished: tuple[ListJournal, Result], tmp_path: Path, share: float
) -> None:
    events = finished[0].kept
    told = next(at for at, event in enumerate(events) if event.kind == "told")
    kept = _started(events)[: max(told + 1, int(share * len(events)))]
    seen = result_of(kept)
    page = ReportPage(write_outputs(tmp_path, facts_of(kept), seen).report.read_text())
    over = share == 1.0
    assert page.data["finished"] is over
    assert ("still going, or it ended without saying so" in page.seen) is not over
    assert len(page.data["nodes"]["id"]) == len(seen.nodes)


def _started(events: list[Event]) -> tuple[Event, ...]:
    return tuple(
        replace(event, payload={"hardware": "Paper GPU", **event.payload})
        if event.kind == "started"
        else event
        for event in events
    )


def test_a_single_measured_baseline_makes_a_page() -> None:
    page = page_of(large_result(1))
    assert page.data["path"] == [0] and page.data["claimed"] == [] and page.data["failures"] == []


def test_every_name_of_the_run_is_shown_as_it_is() -> None:
    run = replace(RUN, task=HOSTILE, hardware=HOSTILE, proposer=HOSTILE)
    page = ReportPage(report_html(run=run, result=large_result(3), svg=None))
    assert "<img src=x" not in page.text and "&lt;img src=x" in page.seen
