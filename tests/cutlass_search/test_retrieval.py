"""The table of retrieval: its questions, its measure, and its aim on a real tree."""

from __future__ import annotations

from statistics import mean

from cutlass_search.index import Index
from cutlass_search.searching import find
from experiments.cutlass_retrieval import recall
from experiments.cutlass_retrieval_questions import HELD_BACK, QUESTIONS, TUNED, Question


def test_half_of_at_least_forty_questions_is_held_back() -> None:
    assert len(QUESTIONS) >= 40
    assert not {one.text for one in TUNED} & {one.text for one in HELD_BACK}
    assert abs(len(TUNED) - len(HELD_BACK)) <= 1


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


def test_nine_of_ten_needs_are_met_by_the_first_ten_files(cutlass_index: Index) -> None:
    for questions in (TUNED, HELD_BACK):
        found = [
            recall(one, [hit.best.path for hit in find(cutlass_index, one.text)], 10)
            for one in questions
        ]
        assert mean(found) >= 0.9
