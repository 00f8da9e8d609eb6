"""What every Journal must do."""

from __future__ import annotations

import math
import threading
from typing import Any

import pytest

from mcts.ports import Journal


class JournalContract:
    """Override `journal` with a fresh, empty one."""

    @pytest.fixture
    def journal(self) -> Journal:
        raise NotImplementedError("override the fixture journal of JournalContract")

    def test_it_begins_empty_and_keeps_what_was_appended_in_order(self, journal: Journal) -> None:
        assert isinstance(journal, Journal)
        assert list(journal.events()) == []
        text = "a\u2028b \x00 «ü»"
        payloads: list[dict[str, Any]] = [{"trial": 1}, {"text": text, "list": [1, 2.5, None]}, {}]
        for number, payload in enumerate(payloads, start=1):
            event = journal.append(f"kind-{number}", payload)
            assert (event.seq, event.kind) == (number, f"kind-{number}")
        kept = list(journal.events())
        assert [dict(event.payload) for event in kept] == payloads
        assert [event.seq for event in kept] == [1, 2, 3]

    def test_floats_come_back_exactly(self, journal: Journal) -> None:
        values = [0.1, 1 / 3, math.pi * 1e-300, 2.0**60 + 1]
        journal.append("numbers", {"values": values})
        (event,) = journal.events()
        assert event.payload["values"] == values

    def test_it_may_be_used_from_another_thread(self, journal: Journal) -> None:
        thread = threading.Thread(target=lambda: journal.append("other", {"trial": 7}))
        thread.start()
        thread.join()
        journal.append("main", {"trial": 8})
        assert [event.kind for event in journal.events()] == ["other", "main"]
