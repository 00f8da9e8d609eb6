"""The report in a headless Chromium: what a reader does with it, and what it must never do."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments.views.report import conversations
from experiments.views.report.conversations import Conversation, Message
from experiments.views.report.page import report_html
from mcts.journal.record import Result
from mcts.testing.toy import MemoryJournal
from tests.experiments.views.test_report import RUN
from tests.mcts.journal.paid import PaidToy, optimizer
from tests.support.browser import CHROMIUM, Seen, chromium, opened
from tests.support.hostile_run import HOSTILE, hostile_result
from tests.support.large_run import large_result

pytest.importorskip("playwright", reason="playwright is not installed")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")

LARGE = 20_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


def written(path: Path, result: Result) -> Path:
    path.write_text(report_html(run=RUN, result=result, svg=None), "utf-8")
    return path


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a bundled task's recording, searched for 200 evaluations."""
    out = tmp_path_factory.mktemp("report") / "run"
    words = ["optimize", "row_softmax", "--evaluations", "200", "--seed", "1", "--out", str(out)]
    # One thread: the proposer solves small systems, for which more get into each other's way.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "experiments", *words], env=environment, capture_output=True
    )
    assert done.returncode == 0, done.stderr.decode()
    return out / "report.html"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("large") / "report.html", large_result(LARGE))


@pytest.fixture
def view(browser: Any, real: Path) -> Iterator[Any]:
    """The page of the real run; at the end it must have done nothing wrong."""
    with opened(browser, real) as (page, seen):
        page.wait_for_selector(".tab-body > *")
        yield page
        assert seen == Seen()


def node_shown(page: Any) -> int:
    return int(page.locator(".node-page").get_attribute("data-node"))


def selected(page: Any) -> int:
    return int(page.locator(".row.selected .id b").inner_text())


def rows(page: Any) -> list[str]:
    """The rows that are in the list, from above."""
    return [text.split()[0] for text in page.locator(".sizer .row .id b").all_inner_texts()]


def data_of(page: Any) -> dict[str, Any]:
    found: dict[str, Any] = page.evaluate("JSON.parse(document.getElementById('data').textContent)")
    return found


def count_told(page: Any) -> str:
    return str(page.locator(".buttons [role=status]").inner_text())


def found(page: Any) -> int:
    """How many nodes a filter has left."""
    return int(count_told(page).split()[0])


def test_it_opens_at_the_best_node_with_all_its_sections(view: Any) -> None:
    assert node_shown(view) == selected(view) == data_of(view)["best"]
    for name in ("best", "facts", "tree", "progress", "roofline", "methods", "tools", "failures"):
        assert view.locator(f"#{name}").is_visible()
    assert view.locator("#roofline svg .best-line").count() == 1
    assert view.locator(".without-script").is_hidden()


def test_the_tree_expands_and_collapses(view: Any) -> None:
    def shown() -> int:
        return int(view.locator(".rows").get_attribute("aria-rowcount"))

    folded = shown()
    view.get_by_role("button", name="Expand all").click()
    assert shown() == 201 > folded
    view.get_by_role("button", name="Collapse").click()
    assert shown() == folded
    view.locator(".rows").press("Home")
    view.locator("#row-0 .twist").click()
    assert shown() == 1


def test_the_keyboard_moves_folds_and_opens(view: Any) -> None:
    view.locator(".rows").focus()
    view.keyboard.press("Home")
    assert selected(view) == 0
    view.keyboard.press("ArrowDown")
    first = selected(view)
    assert first > 0
    view.wait_for_selector(f".node-page[data-node='{first}']")
    view.keyboard.press("ArrowLeft")
    view.keyboard.press("ArrowLeft")
    assert selected(view) == 0
    view.keyboard.press("ArrowLeft")
    assert view.locator("#row-0").get_attribute("aria-expanded") == "false"
    view.keyboard.press("ArrowRight")
    assert view.locator("#row-0").get_attribute("aria-expanded") == "true"
    view.keyboard.press("b")
    view.keyboard.press("Enter")
    assert "node-page" in view.evaluate("document.activeElement.className")
    assert view.url.endswith(f"#node-{selected(view)}")
    view.keyboard.press("/")
    assert view.evaluate("document.activeElement.type") == "search"


def test_search_and_filters_leave_what_was_asked_for(view: Any) -> None:
    nodes = data_of(view)["nodes"]
    change = nodes["changed"][1].split("; ")[0]
    with_it = sum(change in text for text in nodes["changed"])
    view.get_by_role("searchbox").fill(f'"{change}"')
    view.locator(".buttons [role=status]", has_text=f"{with_it} of 201 nodes").wait_for()
    hits = view.locator(".sizer .row:not(.dim) .what").all_inner_texts()
    assert hits and all(change in text for text in hits)
    view.keyboard.press("Escape")
    assert count_told(view) == "201 nodes"
    view.get_by_label("Status").select_option("best path")
    assert found(view) == len(view.locator(".sizer .row.path").all())
    view.get_by_role("button", name="Clear").click()
    known = sorted(speedup for speedup in nodes["speedup"] if speedup is not None)
    middle = known[len(known) // 2]
    view.get_by_label("Speedup from").fill(str(middle))
    assert found(view) == sum(speedup >= middle for speedup in known)
    view.get_by_label("Speedup up to").fill(str(middle))
    assert found(view) == known.count(middle)
    view.get_by_role("button", name="Clear").click()
    view.get_by_label("Method").select_option(nodes["method_names"][0])
    assert found(view) == sum(0 in claimed for claimed in nodes["methods"])


def test_a_click_on_a_title_sorts_and_the_third_goes_back(view: Any) -> None:
    def speedups() -> list[float]:
        texts = view.locator(".sizer .row .speedup").all_inner_texts()
        return [float(text.rstrip("×")) for text in texts if text]

    title = view.locator(".row.head").get_by_role("button", name="speedup")
    view.locator(".rows").press("Home")
    tree = rows(view)
    title.click()
    assert speedups() == sorted(speedups(), reverse=True)
    title.click()
    assert speedups() == sorted(speedups())
    title.click()
    assert rows(view) == tree and tree[0] == "0"


def test_a_nodes_page_has_source_diff_advice_and_counters(view: Any) -> None:
    tab = view.get_by_role("tab")
    tab.get_by_text("Source").click()
    assert view.locator(".node-page .t-keyword").count() > 5
    assert view.locator(".node-page .t-cuda").count() > 1
    tab.get_by_text("Diff").click()
    assert "Tunables:" in view.locator(".tab-body").inner_text()
    view.get_by_role("radio", name="baseline").click()
    assert view.get_by_role("radio", name="baseline").get_attribute("aria-checked") == "true"
    tab.get_by_text("Advice").click()
    assert "-bound" in view.locator(".tab-body h4").first.inner_text()
    assert view.locator(".tab-body .evidence").count() >= 1
    tab.get_by_text("Counters").click()
    assert "dram__bytes_read.sum" in view.locator(".tab-body").inner_text()


def test_a_diff_marks_words_folds_what_is_equal_and_names_the_lines(
    browser: Any, tmp_path: Path
) -> None:
    result = large_result(2)
    before, after = (node.candidate for node in result.nodes)
    assert before is not None and after is not None
    source = before.source.replace("x[i + 20]", "y[i + 20]") + "// the end\n"
    nodes = (
        result.nodes[0],
        replace(result.nodes[1], candidate=after.model_copy(update={"source": source})),
    )
    path = written(tmp_path / "report.html", replace(result, nodes=nodes))
    with opened(browser, path, at="#node-1") as (page, seen):
        page.wait_for_selector(".node-page[data-node='1'] .tab-body > *")
        page.get_by_role("tab", name="Diff").click()
        assert page.locator("pre.diff mark").all_inner_texts() == ["x", "y"]
        assert "Lines: 2 added, 1 removed." in page.locator(".tab-body").inner_text()
        folds = page.locator("pre.diff .fold")
        lines = page.locator("pre.diff .line").count()
        folds.first.click()
        assert page.locator("pre.diff .line").count() > lines
        assert seen == Seen()


def test_colours_follow_the_system_and_the_button(browser: Any, real: Path) -> None:
    def ground(page: Any) -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    with opened(browser, real, color_scheme="light") as (page, _):
        light = ground(page)
    with opened(browser, real, color_scheme="dark") as (page, seen):
        dark = ground(page)
        assert dark != light
        page.get_by_role("button", name="Colours: auto").click()
        assert ground(page) == light
        page.get_by_role("button", name="Colours: light").click()
        assert ground(page) == dark
        page.emulate_media(media="print")
        assert ground(page) == "rgb(255, 255, 255)"
        assert page.locator(".without-script").is_visible()
        assert page.locator(".toolbar").is_hidden()
        assert seen == Seen()


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_no_width_makes_it_scroll_sideways(browser: Any, real: Path, width: int) -> None:
    with opened(browser, real, viewport={"width": width, "height": 800}) as (page, _):
        page.wait_for_selector(".tab-body > *")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_without_scripts_the_result_and_the_nodes_are_read(browser: Any, real: Path) -> None:
    with opened(browser, real, java_script_enabled=False) as (page, seen):
        text = page.locator("main").inner_text()
        assert "Best kernel" in text and "95 % interval" in text and "The first 100 of 201" in text
        assert page.locator(".without-script tbody tr").count() == 100
        assert seen == Seen()


def test_twenty_thousand_nodes_are_browsed(browser: Any, large: Path) -> None:
    with opened(browser, large) as (page, seen):
        page.wait_for_selector(".tab-body > *")
        assert count_told(page) == "20,000 nodes"
        page.get_by_role("button", name="Expand all").click()
        assert page.locator(".rows").get_attribute("aria-rowcount") == "20000"
        assert page.locator(".sizer .row").count() < 100
        page.locator(".rows").press("End")
        last = selected(page)
        page.wait_for_selector(f".node-page[data-node='{last}']")
        page.get_by_role("searchbox").fill("#19999")
        page.locator(".buttons [role=status]", has_text="1 of 20,000 nodes").wait_for()
        assert "19999" in rows(page)
        assert seen == Seen()


def test_hostile_text_is_shown_and_does_nothing(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = Conversation(
        (Message("user", HOSTILE), Message(HOSTILE, HOSTILE), Message("assistant", HOSTILE))
    )
    monkeypatch.setattr(
        conversations, "read_conversations", lambda *_: dict.fromkeys(range(99), (said, said))
    )
    text = report_html(
        run=replace(RUN, task=HOSTILE), result=hostile_result(), svg=None, run_dir=tmp_path
    )
    path = tmp_path / "report.html"
    path.write_text(text, "utf-8")
    with opened(browser, path) as (page, seen):
        page.wait_for_selector(".tab-body > *")
        statuses = data_of(page)["nodes"]["status"]
        for node in {status: at for at, status in enumerate(statuses)}.values():
            page.evaluate(f"location.hash = 'node-{node}'")
            page.wait_for_selector(f".node-page[data-node='{node}'] .tab-body > *")
            for tab in page.get_by_role("tab").all_inner_texts():
                page.get_by_role("tab", name=tab, exact=True).click()
                page.locator(f".tab-body[aria-label='{tab}'] > *").first.wait_for()
                text = page.locator(".tab-body").inner_text()
                assert "hacked" in text or tab == "Diff", (node, tab)
        assert page.evaluate("window.hacked") is None
        assert page.locator("img, iframe, object, link").count() == 0
        assert "</script><script>window.hacked = 1</script>" in page.locator("h1").inner_text()
        assert seen == Seen()


def test_what_a_model_was_asked_and_took_is_on_the_page(browser: Any, tmp_path: Path) -> None:
    result = optimizer(MemoryJournal(), PaidToy(), evaluations=10).run()
    with opened(browser, written(tmp_path / "report.html", result)) as (page, seen):
        page.wait_for_selector(".tab-body > *")
        assert "in all" in page.locator("#account").inner_text()
        page.get_by_role("radio", name="money").click()
        assert "US dollars" in page.locator("#progress svg").inner_html()
        page.get_by_role("tab", name="Model").click()
        assert "cost" in page.locator(".tab-body").inner_text()
        assert "were not kept" in page.locator(".tab-body").inner_text()
        assert seen == Seen()


def saved_csv(page: Any, path: Path) -> list[dict[str, str]]:
    with page.expect_download() as waiting:
        page.get_by_role("button", name="All as CSV").click()
    waiting.value.save_as(path)
    return list(csv.DictReader(path.open(newline="", encoding="utf-8")))


def test_all_nodes_are_handed_over_as_csv(view: Any, tmp_path: Path) -> None:
    lines = saved_csv(view, tmp_path / "trials.csv")
    nodes = data_of(view)["nodes"]
    assert [int(line["node"]) for line in lines] == nodes["id"]
    best = lines[data_of(view)["best"]]
    assert float(best["speedup"]) == nodes["speedup"][data_of(view)["best"]]
    assert best["LANES"] and best["outcome"] == "measured"


def test_failed_nodes_have_their_values_in_the_csv(
    browser: Any, large: Path, tmp_path: Path
) -> None:
    with opened(browser, large) as (page, seen):
        lines = saved_csv(page, tmp_path / "trials.csv")
        assert seen == Seen()
    assert len(lines) == LARGE
    failed = [line for line in lines if line["outcome"] == "wrong result"]
    assert failed
    assert all(line["ID"] == line["node"] for line in failed)


def test_a_value_that_is_clicked_keeps_the_variants_that_have_it(view: Any) -> None:
    data = data_of(view)["tunables"]
    first = data["tunables"][0]
    least = first["at"].count(0)
    view.get_by_role("button", name=f"{first['name']} = {first['values'][0]}", exact=True).click()
    told = view.locator("#tunables [role=status]").inner_text()
    assert f"{first['name']} = {first['values'][0]}: {least} variants" in told
    assert view.locator("#tunables [aria-pressed=true]").count() == 1
    view.locator("#tunables [aria-pressed=true]").press("Enter")
    assert view.locator("#tunables [role=status]").inner_text() == ""
    assert view.locator("#tunables [aria-pressed=true]").count() == 0
