"""What the concept pages name is there."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import get_args

from experiments.runs.options import names
from mcts.domain import FAILED, Status
from mcts.domain.profile import BoundClass
from mcts.journal.runlog import RunLog
from mcts.loop.reward import RewardSettings
from mcts.search.puct import PuctSettings
from mcts.search.trial import MoveKind

PAGES = Path(__file__).parents[2] / "docs" / "concepts"


def named(page: str) -> set[str]:
    return set(re.findall(r"`([a-z]\w*)`", (PAGES / page).read_text()))


def test_constants_and_searches_of_the_search_page_exist() -> None:
    known = {field.name for kind in (PuctSettings, RewardSettings) for field in fields(kind)} | set(
        names.ours(names.SEARCHES)
    )
    assert named("search.md") <= known | set(get_args(MoveKind))


def test_the_page_on_the_judge_has_every_status() -> None:
    assert named("judging.md") - {"cuda"} == set(get_args(Status)) == FAILED | {"measured"}


def test_the_page_on_the_roofline_has_every_class() -> None:
    classes = set(get_args(BoundClass)) - {"unknown"}
    assert classes <= named("roofline.md")


def test_the_page_on_the_journal_names_events_there_are() -> None:
    text = (PAGES / "journal.md").read_text()
    table = text[text.index("| event |") :].partition("\n\n")[0]
    events = set(re.findall(r"`(\w+)`", table))
    source = Path(RunLog.__init__.__code__.co_filename).read_text()
    assert len(events) > 12
    assert not [event for event in events if f'"{event}"' not in source]
