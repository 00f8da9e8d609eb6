"""The table of retrieval: its questions, its measure, and its aim on a real tree."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean

import pytest

from cutlass_search.index.store import Index
from cutlass_search.search.searching import find
from experiments.benchmarks.evidence.cutlass_retrieval import gives_away, recall
from experiments.benchmarks.evidence.cutlass_retrieval_questions import (
    HELD_BACK,
    QUESTIONS,
    TUNED,
    Question,
    read_questions,
)
from mcts.errors import InputError


def test_the_questions_are_many_and_those_held_back_are_others() -> None:
    assert len(TUNED) >= 60
    assert not {one.text for one in TUNED} & {one.text for one in HELD_BACK}


def _written(tmp_path: Path, form: object) -> Path:
    place = tmp_path / "questions.json"
    place.write_text(json.dumps(form), encoding="utf-8")
    return place


def test_questions_are_read_with_all_needs_and_their_alternatives(tmp_path: Path) -> None:
    first = {"any_of": [{"path": "a.h", "symbol": "x"}, {"path": "b.h", "symbol": None}]}
    second = {"any_of": [{"path": "c.h"}]}
    place = _written(tmp_path, [{"question": "how?", "wanted": [first, second]}])
    assert read_questions(place) == (Question(text="how?", needs=(("a.h#x", "b.h"), ("c.h",))),)
    assert read_questions(tmp_path / "none.json") == ()


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ([{"question": "how?", "wanted": [{"any_of": []}]}], r"0\.wanted\.0\.any_of: "),
        ([{"question": "how?"}], r"0\.wanted: "),
        ([{"question": "how?", "wanted": [{"any_of": [{"file": "a.h"}]}]}], r"any_of\.0\.path: "),
    ],
)
def test_another_form_is_refused_by_its_place(tmp_path: Path, form: object, says: str) -> None:
    with pytest.raises(InputError, match=f"questions.json: .*{says}"):
        read_questions(_written(tmp_path, form))


def test_recall_is_the_share_of_needs_that_are_met() -> None:
    question = Question(text="?", needs=(("a.h#x", "b.h"), ("c.h#y",)))
    assert recall(question, ["z.h", "b.h", "c.h"], 2) == 0.5
    assert recall(question, ["z.h", "b.h", "c.h"], 3) == 1.0
    assert recall(question, [], 10) == 0.0


def test_the_real_tree_holds_every_answer(cutlass_index: Index) -> None:
    known = {
        (path, name)
        for path, name in cutlass_index.connection.execute(
            "SELECT f.path, s.name FROM file f LEFT JOIN symbol s ON s.file = f.id AND s.body"
        )
    }
    paths = {path for path, _ in known}
    for question in QUESTIONS:
        for place in (place for need in question.needs for place in need):
            path, _, symbol = place.partition("#")
            assert (path, symbol) in known if symbol else path in paths, place


def test_a_question_that_spells_out_its_answer_gives_it_away() -> None:
    for text in ("what is a named barrier?", "NamedBarrier", "named_barrier"):
        assert gives_away(Question(text=text, needs=(("a.h#NamedBarrier",),)))
    assert not gives_away(Question(text="a barrier", needs=(("a.h#NamedBarrier", "b.h"),)))
    assert not any(map(gives_away, TUNED))


def test_most_needs_are_met_by_the_first_ten_files(cutlass_index: Index) -> None:
    found = [
        recall(one, [hit.best.path for hit in find(cutlass_index, one.text)], 10) for one in TUNED
    ]
    assert mean(found) >= 0.95
