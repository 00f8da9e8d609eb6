"""The tree's picture and the report page."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.live import Panel, PlainLines
from experiments.views.closing import closing_words
from experiments.views.report.page import report_html
from experiments.views.summary import RunFacts, as_json, write_outputs
from experiments.views.tree import render
from experiments.views.tree.drawing import fold, tree_source
from mcts.domain import (
    Energy,
    Evaluation,
    Isolation,
    Refusal,
)
from mcts.errors import InputError
from mcts.journal.record import NodeRecord
from mcts.journal.summary import Provenance
from mcts.loop.optimizer import Result
from tests.experiments.conftest import make_progress


def page(result: Result) -> str:
    """The report as it is seen without JavaScript."""
    run = Provenance(
        task="toy", evaluator="model", proposer="one step", hardware="Paper GPU", seed=0
    )
    return without_scripts(report_html(run=run, result=result, svg=None))


def without_scripts(text: str) -> str:
    return re.sub(r"<(script|style)\b.*?</\1>", "", text, flags=re.DOTALL)


def test_every_node_is_drawn_with_what_it_changed(result: Result) -> None:
    source = tree_source(result, title="toy").source
    for node in result.nodes:
        assert re.search(rf"^\t{node.id} \[", source, re.MULTILINE)
    assert f"best {result.best.speedup:.2f}×" in source
    assert "compile failed" in source
    parents = {f"{node.parent} -> {node.id}" for node in result.nodes[1:]}
    assert parents <= set(re.findall(r"\d+ -> \d+", source))


def test_a_large_tree_is_folded_but_keeps_the_way_to_the_best(result: Result) -> None:
    most = 2 * len(result.path_to(result.best)) + 4
    folded = fold(result, most)
    shown = {node.id for node in folded.shown}
    assert {node.id for node in result.path_to(result.best)} <= shown
    assert len(shown) + len(folded.hidden) <= most < len(result.nodes)
    assert len(shown) + sum(stub.nodes for stub in folded.hidden.values()) == len(result.nodes)
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


def test_the_page_tells_the_result_with_its_interval(result: Result) -> None:
    timing = result.best.evaluation.timing if result.best.evaluation else None
    assert timing is not None
    text = page(result)
    assert f"{timing.speedup:.2f}×" in text
    assert f"{timing.speedup_low:.2f} to {timing.speedup_high:.2f}" in text


FACTS = RunFacts(task="toy", evaluator="model", proposer="one step", hardware="Paper GPU", seed=1)
REFUSED = Evaluation(
    candidate_id="cheat",
    status="refused",
    message="the output was ready before the work",
    refusal=Refusal(cheat="side_stream", evidence="the output was ready before the work"),
)


def confirmed_at(evaluation: Evaluation, share: float) -> Evaluation:
    """`evaluation` measured again at `share` of its speedup, with all there is to say of it."""
    assert evaluation.timing is not None
    timing = evaluation.timing.model_dump()
    for field in ("speedup", "speedup_low", "speedup_high"):
        timing[field] *= share
    timing["detectable"] = 0.004
    return evaluation.model_copy(
        update={
            "timing": type(evaluation.timing).model_validate(timing),
            "isolation": Isolation(level="partial", missing={"landlock": "kernel too old"}),
            "notes": ("clocks were not locked <here>",),
            "energy": Energy(
                energy_mj=12.34,
                low_mj=12.1,
                high_mj=12.5,
                window_s=2.0,
                baseline_mj=20.0,
                call_us=31.25,
                idle_w=80.0,
                limit_w=480.0,
                limits="the counter moves every 100 ms",
            ),
        }
    )


def with_second_look(result: Result, share: float = 0.9) -> Result:
    """`result` with its best confirmed, and one node refused by the search itself."""
    best = result.best
    assert best.evaluation is not None
    again = confirmed_at(best.evaluation, share)
    failed = next(node for node in result.nodes if node.kind == "failed")

    def seen(node: NodeRecord) -> NodeRecord:
        if node.id == failed.id:
            return replace(node, evaluation=REFUSED, reason=REFUSED.message)
        same = node.evaluation is not None and node.evaluation.candidate_id == again.candidate_id
        return replace(node, confirmed=again) if same else node

    nodes = tuple(seen(node) for node in result.nodes)
    return replace(result, nodes=nodes, confirmed={again.candidate_id: again})


def test_a_best_that_was_not_confirmed_is_said_to_be_measured_once(
    result: Result, tmp_path: Path
) -> None:
    outputs = write_outputs(tmp_path, FACTS, result)
    text = "\n".join(closing_words(FACTS, result, outputs, tmp_path)) + page(result)
    assert text.count("no: measured once, while searching") == 2, "in words, and on the page"
    for word in ("mJ", "isolation", "refused"):
        assert word not in text
    assert as_json(FACTS, result, tmp_path)["confirmed"] is False


def test_the_closing_words_tell_both_speedups_and_how_well_they_are_known(
    result: Result, tmp_path: Path
) -> None:
    seen = with_second_look(result)
    searched = result.best.speedup
    assert searched is not None
    outputs = write_outputs(tmp_path, FACTS, seen)
    text = "\n".join(closing_words(FACTS, seen, outputs, tmp_path))
    assert f"{searched:.2f}x while searching, {0.9 * searched:.2f}x (" in text
    assert "confirmed; 1 of 1 finalist held" in text
    assert f", {0.9 * searched:.2f}x over the baseline's" in text
    for words in (
        "smallest difference this run can resolve: 0.40 %",
        "12.34 mJ per call (12.1 to 12.5) above 80 W idle, the baseline's 20 mJ, 0.617 of it",
        "0.617 of it, at 31.25 us a call under load and the board's limit of 480 W",
        "isolation     partial (without landlock)",
        "refused       1 side_stream",
        "note          clocks were not locked <here>",
    ):
        assert words in text
    best = json.loads(outputs.best_candidate.read_text())
    assert best["confirmed"]["timing"]["speedup"] == pytest.approx(0.9 * searched)
    assert best["evaluation"]["timing"]["speedup"] == pytest.approx(searched)


def test_json_holds_the_confirmed_speedup_and_the_searched_one(result: Result) -> None:
    found = as_json(FACTS, with_second_look(result), Path("run"))
    assert json.loads(json.dumps(found)) == found
    assert found["confirmed"] is True
    assert found["speedup"] == pytest.approx(0.9 * found["searched_speedup"])
    assert found["energy_low_mj"] <= found["energy_mj"] <= found["energy_high_mj"]
    assert found["refused"] == {"side_stream": 1}
    assert (found["objective"], found["isolation"]) == ("time", "partial (without landlock)")


def over(result: Result, baseline: str) -> Result:
    """`result` with its speedups over `baseline`."""

    def renamed(node: NodeRecord) -> NodeRecord:
        if node.evaluation is None or node.evaluation.timing is None:
            return node
        timing = node.evaluation.timing.model_copy(update={"baseline": baseline})
        return replace(node, evaluation=node.evaluation.model_copy(update={"timing": timing}))

    return replace(result, nodes=tuple(map(renamed, result.nodes)))


def test_another_baseline_is_named_wherever_the_speedup_is(result: Result, tmp_path: Path) -> None:
    seen = over(result, "torch.compile")
    outputs = write_outputs(tmp_path, FACTS, seen)
    assert "x over torch.compile's " in closing_words(FACTS, seen, outputs, tmp_path)[0]
    assert as_json(FACTS, seen, tmp_path)["over"] == "torch.compile"
    assert f"node {seen.best.id}, over torch.compile</p>" in page(seen)
    assert as_json(FACTS, result, tmp_path)["over"] == "baseline"
    assert ", over" not in page(result)


@pytest.mark.parametrize(
    ("source", "name"),
    [("import torch\n", "kernel.py"), ('/* rooftree\nlauncher = "f"\n*/\n', "kernel.cu")],
)
def test_the_best_candidate_of_a_pytorch_problem_is_named_by_what_it_is(
    result: Result, tmp_path: Path, source: str, name: str
) -> None:
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "problem.py").touch()
    assert result.best.candidate is not None
    written = result.best.candidate.model_copy(update={"source": source})
    nodes = (replace(n, candidate=written) if n is result.best else n for n in result.nodes)
    outputs = write_outputs(tmp_path, FACTS, replace(result, nodes=tuple(nodes)))
    assert outputs.best_source == tmp_path / "best" / name
    assert outputs.best_source.read_text() == source


def test_the_page_tells_what_was_confirmed_and_how_it_was_held(
    result: Result, tmp_path: Path
) -> None:
    seen = with_second_look(result)
    report = write_outputs(tmp_path, FACTS, seen).report.read_text()
    searched = result.best.speedup or 0.0
    for words in (
        f"<title>toy: {0.9 * searched:.2f}×</title>",
        f"second measurement; {searched:.2f}× while searching",
        "12.34 mJ per call (12.1 to 12.5)",
        "the counter moves every 100 ms",
        "clocks were not locked &lt;here&gt;",
        "<dt>Isolation</dt><dd>partial (without landlock)</dd>",
        "<dt>Refused</dt><dd>1 side_stream</dd>",
        "refused (side_stream): the output was ready",
        "measured, confirmed",
    ):
        assert words in report


def test_the_baseline_is_reported_if_no_finalist_is_confirmed(
    result: Result, tmp_path: Path
) -> None:
    seen = with_second_look(result, share=0.01)
    assert seen.best == seen.baseline
    outputs = write_outputs(tmp_path, FACTS, seen)
    text = "\n".join(closing_words(FACTS, seen, outputs, tmp_path))
    assert "none is faster than the baseline when measured again; 1 of 1 finalist held" in text
    assert "no finalist is faster than the baseline when measured again" in page(seen)


def test_the_tree_names_refusals_and_shows_confirmed_speedups(result: Result) -> None:
    source = tree_source(with_second_look(result), title="toy").source
    searched = result.best.speedup or 0.0
    assert "refused: side stream" in source
    assert f"<b>best {0.9 * searched:.2f}×" in source
    assert f"{searched:.2f}× while searching" in source
    assert f"best {0.9 * searched:.2f}×" in source


def test_a_finalist_that_is_not_confirmed_looks_failed(result: Result) -> None:
    best = result.best
    refused = REFUSED.model_copy(update={"candidate_id": best.evaluation.candidate_id})  # type: ignore[union-attr]
    nodes = tuple(replace(n, confirmed=refused) if n.id == best.id else n for n in result.nodes)
    seen = replace(result, nodes=nodes, confirmed={refused.candidate_id: refused})
    line = next(
        line
        for line in tree_source(seen, title="toy").source.splitlines()
        if line.startswith(f"\t{best.id} [")
    )
    assert "refused: side stream" in line and "#fdecea" in line
    assert "not confirmed: the output was ready before the work" in line
    assert "not confirmed: refused (side_stream)" in page(seen)


def test_every_finalist_is_a_line_however_soon_it_comes() -> None:
    out = io.StringIO()
    show = PlainLines(out, clock=lambda: 0.0)
    show(make_progress("node 5: 2.00x"))
    show(make_progress("node 6: 1.00x"))
    show(make_progress("node 5: being measured again", phase="confirming"))
    show(make_progress("node 5: 1.90x confirmed", phase="confirming", best_speedup=1.9))
    words = [line.split("  ")[-1] for line in out.getvalue().splitlines()]
    assert words == ["node 5: 2.00x", "node 5: being measured again", "node 5: 1.90x confirmed"]


def test_the_panel_says_that_it_confirms() -> None:
    from rich.console import Console

    panel, out = Panel(title="toy", minutes=None, clock=lambda: 0.0), io.StringIO()
    panel.take(make_progress("node 5: being measured again", phase="confirming"))
    Console(file=out, width=100).print(panel.render(width=100))
    assert "measuring the finalists again" in out.getvalue()
