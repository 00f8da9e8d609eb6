"""The table of retrieval: its questions, its measure, and its aim on a real tree."""

from __future__ import annotations

import re
from statistics import mean

from cutlass_search.index import Index
from cutlass_search.searching import find
from cutlass_search.words import parts
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


def _words(text: str) -> list[str]:
    return [word.lower() for one in re.findall(r"\w+", text) for word in parts(one) or (one,)]


def test_no_question_holds_the_whole_name_of_its_answer() -> None:
    for question in QUESTIONS:
        asked = " ".join(_words(question.text))
        for place in (place for need in question.needs for place in need):
            name = " ".join(_words(place.partition("#")[2]))
            assert " " not in name or f" {name} " not in f" {asked} ", question.text


def test_most_needs_are_met_by_the_first_ten_files(cutlass_index: Index) -> None:
    for questions, least in ((TUNED, 0.9), (HELD_BACK, 0.8)):
        found = [
            recall(one, [hit.best.path for hit in find(cutlass_index, one.text)], 10)
            for one in questions
        ]
        assert mean(found) >= least
