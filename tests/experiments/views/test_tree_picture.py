"""The tree's picture: what stands out, what is folded, what hostile text cannot do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments.runs.folders.journal import SqliteJournal
from experiments.text.nodes import WORD, fit, move_words
from experiments.views.tree import render
from experiments.views.tree.drawing import MAX_NODES, tree_source
from experiments.views.tree.folding import fold
from experiments.views.tree.given_up import given_up
from mcts.domain import Candidate
from mcts.errors import JournalError
from mcts.journal.record import NodeRecord, Result, read_result
from mcts.loop.optimizer import Optimizer
from mcts.ports import Event
from mcts.search.puct import PuctSettings
from tests.experiments.conftest import ListJournal, make_optimizer
from tests.support.commands import completed

HOSTILE = (
    '</td></table>">\x00\x1b[31mred\x1b]0;title\x07 \u202egnp.\u200b \\N &amp; {x|y} <b>'
    + "A" * 3_000_000
)
GOLD, RED = "#d97706", "#fdecea"


def line_of(source: str, node: int) -> str:
    return next(line for line in source.splitlines() if line.startswith(f"\t{node} ["))


def test_the_best_path_failures_and_duplicates_look_different(result: Result) -> None:
    source = tree_source(result, title="toy").source
    path = {node.id for node in result.path_to(result.best)}
    for node in result.nodes:
        line = line_of(source, node.id)
        assert (GOLD in line) == (node.id in path)
        assert (RED in line) == (node.kind in ("failed", "rejected"))
        assert ("rounded,dashed" in line) == (node.kind == "duplicate")


def fill_of(result: Result, speedup: float) -> str:
    """The colour of a measured node off the path to the best, were it so fast."""
    path = {node.id for node in result.path_to(result.best)}
    node = next(n for n in result.nodes if n.kind == "measured" and n.id not in path)
    assert node.evaluation is not None and node.evaluation.timing is not None
    timing = node.evaluation.timing.model_copy(
        update={"speedup": speedup, "speedup_low": speedup, "speedup_high": speedup}
    )
    drawn = replace(node, evaluation=node.evaluation.model_copy(update={"timing": timing}))
    nodes = tuple(drawn if one.id == node.id else one for one in result.nodes)
    line = line_of(tree_source(replace(result, nodes=nodes), title="toy").source, node.id)
    found = re.search(r'fillcolor="(#\w+)"', line)
    assert found is not None
    return found[1]


def test_only_what_is_as_fast_as_the_baseline_looks_like_it(result: Result) -> None:
    same = fill_of(result, 1.0)
    assert fill_of(result, 1.009) == fill_of(result, 0.991) == same
    assert fill_of(result, 0.98) not in (same, fill_of(result, 1.02))
    assert fill_of(result, 1.02) != same


@pytest.mark.skipif(render.find_dot() is None, reason="neither dot nor graphviz-pure is installed")
def test_the_fonts_of_a_picture_have_another_to_fall_back_on(
    result: Result, tmp_path: Path
) -> None:
    render.render(tree_source(result, title="toy").source, tmp_path / "tree.svg")
    fonts = re.findall(r'font-family="([^"]*)"', (tmp_path / "tree.svg").read_text())
    assert fonts and all(font.endswith(",sans-serif") for font in fonts)


def test_a_node_tells_speedup_methods_changes_and_visits(result: Result) -> None:
    source = tree_source(result, title="toy").source
    node = next(n for n in result.nodes[1:] if n.kind == "measured" and n.id != result.best.id)
    assert node.candidate is not None
    line = line_of(source, node.id)
    for part in (f"{node.speedup:.2f}×", f"#{node.id}, {node.visits} visit", "→"):
        assert part in line
    assert all(name.split(".")[1].replace("_", " ") in line for name in node.candidate.methods)


def test_a_duplicate_is_linked_to_its_original_if_both_are_drawn(result: Result) -> None:
    source = tree_source(result, title="toy", max_nodes=1000).source
    twins = [node for node in result.nodes if node.kind == "duplicate"]
    assert twins
    for node in twins:
        link = re.search(rf"\t{node.id} -> {node.duplicate_of} \[(.*)\]", source)
        assert link is not None and "constraint=false" in link[1]
        assert f"same as #{node.duplicate_of}" in line_of(source, node.id)
        assert f"#node{node.duplicate_of}" in line_of(source, node.id)
    few = tree_source(result, title="toy", max_nodes=len(result.path_to(result.best)))
    drawn = set(re.findall(r"^\t(\d+) \[", few.source, re.MULTILINE))
    ends = re.findall(r"^\t\d+ -> (\d+)", few.source, re.MULTILINE)
    assert set(ends) <= drawn


def wide_tree(result: Result, nodes: int) -> Result:
    """A tree of `nodes` nodes: every fifth failed, each node with up to seven children."""
    measured = next(node for node in result.nodes[1:] if node.kind == "measured")
    failed = next(node for node in result.nodes if node.kind == "failed")
    made = [result.nodes[0]]
    for id in range(1, nodes):
        like = failed if id % 5 == 0 else measured
        made.append(replace(like, id=id, parent=(id - 1) // 7, visits=1 + nodes // (id + 1)))
    return replace(result, nodes=tuple(made))


def test_a_tree_of_2000_nodes_is_folded_into_stubs_that_say_what_they_hide(result: Result) -> None:
    large = wide_tree(result, 2000)
    folded = fold(large, MAX_NODES)
    assert len(folded.shown) + len(folded.hidden) <= MAX_NODES
    assert len(folded.shown) > MAX_NODES // 3
    assert len(folded.shown) + sum(stub.nodes for stub in folded.hidden.values()) == 2000
    failed = sum(node.speedup is None for node in folded.shown)
    assert failed + sum(stub.failed for stub in folded.hidden.values()) == 399
    source = tree_source(large, title="toy").source
    boxes = re.findall(r"^\t(?:more)?\d+ \[", source, re.MULTILINE)
    assert len(boxes) <= MAX_NODES
    assert re.search(r"\+ \d+ nodes.*best \d+\.\d\d×, \d+ failed", source)
    assert "of 2,000 nodes drawn" in source


def test_one_node_alone_is_shown_and_not_folded(result: Result) -> None:
    for most in range(1, len(result.nodes) + 1):
        assert all(stub.nodes > 1 for stub in fold(result, most).hidden.values())


def test_a_tree_that_fits_is_drawn_whole(result: Result) -> None:
    folded = fold(result, len(result.nodes))
    assert folded.shown == result.nodes
    assert not folded.hidden


def hostile(result: Result) -> Result:
    def spoil(node: NodeRecord) -> NodeRecord:
        if node.candidate is None:
            return replace(node, reason=HOSTILE)
        candidate = node.candidate.model_copy(
            update={
                "rationale": HOSTILE,
                "methods": (f"memory.{HOSTILE}",),
                "tunables": {**node.candidate.tunables, HOSTILE: f"{HOSTILE}{node.id}"},
            }
        )
        return replace(node, candidate=candidate, reason=HOSTILE if node.id % 2 else "")

    return replace(result, nodes=tuple(spoil(node) for node in result.nodes[:12]))


def test_text_of_candidates_is_escaped_and_short(result: Result) -> None:
    source = tree_source(hostile(result), title=HOSTILE).source
    assert len(source) < 60_000
    for sign in ("\x00", "\x1b", "\x07", "\u202e", "\u200b", '</td></table>"'):
        assert sign not in source
    assert "&lt;/td&gt;" in source


@pytest.mark.skipif(render.find_dot() is None, reason="neither dot nor graphviz-pure is installed")
def test_hostile_text_is_drawn(result: Result, tmp_path: Path) -> None:
    path = tmp_path / "tree.svg"
    render.render(tree_source(hostile(result), title=HOSTILE).source, path)
    svg = path.read_text()
    assert "<script" not in svg and "</svg>" in svg


def test_words_fit_one_line() -> None:
    assert fit("a\nb\tc", 20) == "a b c"
    assert len(fit(HOSTILE, WORD)) <= WORD
    before = Candidate(source="x", tunables={f"T{n}": 0 for n in range(9)})
    after = Candidate(source="x", tunables={f"T{n}": 1 for n in range(9)})
    words = move_words(before, after)
    assert words[0] == "T0 0 → 1" and words[-1] == "and 5 more"
    assert move_words(None, after) == []


# Lines that the search has given up.


def event(kind: str, /, **payload: Any) -> Event:
    return Event(0, kind, payload)


def told(trial: int, parent: int | None, reward: float, **more: Any) -> Event:
    facts: Mapping[str, Any] = {
        "outcome": "measured" if reward else "failed", "prior": 0.5, "expandable": True, **more
    }  # fmt: skip
    return event("told", trial=trial, parent=parent, reward=reward, **facts)


def started(search: str = "PuctSettings", **settings: Any) -> Event:
    return event("started", search=search, settings={"patience": 2, "max_repairs": 1, **settings})


def fruitless() -> list[Event]:
    """Node 1 has two children below it that brought nothing; node 4 is fresh."""
    lines = [told(0, None, 0.1), told(1, 0, 0.5), told(2, 1, 0.2), told(3, 1, 0.2), told(4, 0, 0.6)]
    barren = []
    for trial, parent in ((10, 2), (11, 3)):
        asked = event("asked", trial=trial, parent=parent, kind="improve", ordinal=0, seed=1)
        barren += [asked, event("no_moves", trial=trial)]
    return [*lines, *barren]


def test_a_branch_without_progress_is_given_up() -> None:
    assert given_up([started(), *fruitless()]) == {1, 2, 3}
    assert given_up([started(patience=3), *fruitless()]) == {2, 3}


def test_other_searches_and_constants_of_other_versions_are_no_trouble() -> None:
    assert given_up([started("BeamSettings"), *fruitless()]) == frozenset()
    assert given_up([started(widening_of_old=3.0), *fruitless()]) == {1, 2, 3}
    assert given_up([]) == frozenset()


def test_an_exhausted_search_has_given_up_no_branch() -> None:
    asked = event("asked", trial=1, parent=0, kind="improve", ordinal=0, seed=1)
    assert given_up([started(), told(0, None, 0.1), asked, event("no_moves", trial=1)]) == set()


def test_a_damaged_journal_is_named_as_such() -> None:
    with pytest.raises(JournalError, match="damaged"):
        given_up([started(), told(0, None, 0.1), event("no_moves", trial=9)])


def test_what_was_given_up_is_dotted(result: Result) -> None:
    path = {node.id for node in result.path_to(result.best)}
    node = next(n for n in result.nodes if n.kind == "measured" and n.id not in path)
    source = tree_source(result, title="toy", pruned=frozenset({node.id, *path})).source
    assert "rounded,dotted" in line_of(source, node.id)
    assert "given up by the search" in line_of(source, node.id)
    assert all("dotted" not in line_of(source, id) for id in path)


def searched(seed: int) -> tuple[Optimizer, ListJournal]:
    """A search of little patience, over."""
    journal = ListJournal()
    optimizer = make_optimizer(
        journal, evaluations=60, search_settings=PuctSettings(patience=2), seed=seed
    )
    optimizer.run()
    return optimizer, journal


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_journal_shows_the_branches_that_the_search_gave_up(seed: int) -> None:
    optimizer, journal = searched(seed)
    lines = [event.payload for event in journal.events() if event.kind == "told"]
    grows = {line["trial"] for line in lines if line["expandable"]}
    nodes = optimizer.search.tree.nodes.values()
    dead = {node.id for node in nodes if node.dead and (node.children or node.id in grows)}
    assert dead
    assert given_up(journal.events()) == dead


def test_the_command_draws_what_was_given_up_apart(tmp_path: Path) -> None:
    _, kept = searched(1)
    with SqliteJournal(tmp_path / "run.sqlite") as journal:
        for entry in kept.events():
            journal.append(entry.kind, entry.payload)
    out = tmp_path / "tree.dot"
    completed("tree", tmp_path, "-o", out, "--max-nodes", 900)
    path = {node.id for node in read_result(kept.events()).path_to(read_result(kept.events()).best)}
    for id in given_up(kept.events()) - path:
        assert re.search(r"style=\"[\w,]*dotted", line_of(out.read_text(), id))


def test_new_code_is_called_what_its_author_calls_it() -> None:
    before = Candidate(source="a\n", name="naive")
    after = Candidate(source="b\n", name="wgmma implicit GEMM, weights in registers")
    words = move_words(before, after)
    assert words == ["wgmma implicit GEMM, weights", "in registers", "source +1 −1"]
    assert move_words(before, after.model_copy(update={"name": "naive"})) == ["source +1 −1"]
    assert move_words(after, after) == []
    nasty = after.model_copy(update={"name": "\x1b[31m\u202e" + "x" * 300})
    assert all(len(word) <= WORD and word.isprintable() for word in move_words(before, nasty))
