"""The tree's picture and the report page."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from experiments import render
from experiments.findings import finding_words, findings_html
from experiments.report import report_html
from experiments.treeview import fold, tree_source
from mcts.domain import Evidence, Finding, Guidance
from mcts.errors import InputError
from mcts.optimize import Result


def page(result: Result, svg: bytes | None = None) -> str:
    facts = {"Task": "toy", "Evaluator": "model", "Hardware": "Paper GPU", "Proposer": "one step"}
    return report_html(facts=facts, result=result, svg=svg)


def test_every_node_is_drawn_with_what_it_changed(result: Result) -> None:
    source = tree_source(result, title="toy").source
    for node in result.nodes:
        assert re.search(rf"^\t{node.id} \[", source, re.MULTILINE)
    assert "★" in source
    assert "compile failed" in source
    assert source.count("->") == len(result.nodes) - 1


def test_a_large_tree_is_folded_but_keeps_the_way_to_the_best(result: Result) -> None:
    folded = fold(result, 8)
    shown = {node.id for node in folded.shown}
    assert {node.id for node in result.path_to(result.best)} <= shown
    assert len(shown) == 8
    assert len(shown) + sum(folded.hidden.values()) == len(result.nodes)
    assert all(node.parent is None or node.parent in shown for node in folded.shown)


def test_without_a_program_to_draw_the_source_is_still_there(
    result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(render, "find_dot", lambda: None)
    render.render("digraph {}", tmp_path / "tree.dot")
    with pytest.raises(InputError, match="pip install graphviz-pure"):
        render.render("digraph {}", tmp_path / "tree.svg")


@pytest.mark.skipif(render.find_dot() is None, reason="neither dot nor graphviz-pure is installed")
def test_the_picture_is_drawn(result: Result, tmp_path: Path) -> None:
    render.render(tree_source(result, title="toy & <co>").source, tmp_path / "tree.svg")
    assert "</svg>" in (tmp_path / "tree.svg").read_text()
    render.render(tree_source(result, title="toy").source, tmp_path / "tree.png")
    assert (tmp_path / "tree.png").read_bytes().startswith(b"\x89PNG")


class _Collector(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]


def test_the_page_runs_nothing_and_loads_nothing(result: Result) -> None:
    text = page(result, b"<svg/>")
    seen = _Collector()
    seen.feed(text)
    assert "script" not in seen.tags
    assert all(link.startswith("data:") for link in seen.links)
    assert "default-src 'none'" in text


def test_what_candidates_say_is_text(result: Result) -> None:
    text = page(result)
    assert "&lt;registers&gt;" in text
    assert "<registers>" not in text
    assert "<b>here</b>" not in text


def test_the_page_tells_the_result_with_its_interval(result: Result) -> None:
    timing = result.best.evaluation.timing if result.best.evaluation else None
    assert timing is not None
    text = page(result)
    assert f"{timing.speedup:.2f}×" in text
    assert f"{timing.speedup_low:.2f} to {timing.speedup_high:.2f}" in text


def test_what_the_tools_said_is_folded_away_but_for_the_best(result: Result) -> None:
    text = page(result)
    assert text.count("<details") == len(result.path_to(result.best))
    assert text.count("<details open>") == 1


def test_a_finding_is_a_line_in_short_and_a_row_in_full(result: Result) -> None:
    guidance = Guidance(
        findings=tuple(
            Finding(
                tool=f"tool{number}",
                axis="memory",
                strength=0.5,
                evidence=(Evidence(metric="a < b", value=3, threshold=1),),
                advice="Move <less>.",
                methods=("memory.vectorized_loads",),
                expected_gain=1.5,
            )
            for number in range(4)
        )
    )
    assert finding_words(guidance) == "tool0, tool1, 2 more"
    text = findings_html([replace(result.best, guidance=guidance)])
    for part in ("tool3", "50%", "Move &lt;less&gt;. Expect about 1.50×.", "a &lt; b = 3"):
        assert part in text
