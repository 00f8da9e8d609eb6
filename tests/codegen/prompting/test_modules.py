"""Which modules of a variant take its time, in the prompts that are to tell it."""

from __future__ import annotations

import pytest

from codegen.prompting.modules import MODULES_TITLE, modules_section
from mcts.domain import Candidate, ModelModule, ModuleTimes, Profile
from mcts.search.trial import Move
from tests.codegen.cases import full_request, problem_task
from tests.codegen.prompting.test_prompts import built, sections, user

PARTS = ("stem", "body", "head")


def profile(*names: str, us: float = 100.0, each: float = 30.0) -> Profile:
    modules = tuple(
        ModelModule(path=name, kind="Linear", inputs="8x16", output="8x4", calls=2, us=each)
        for name in names
    )
    return Profile(modules=ModuleTimes(us=us, modules=modules) if modules else None)


def test_modules_stand_with_their_share_and_what_is_beside_them() -> None:
    section = modules_section(profile(*PARTS), "implement")
    assert section is not None
    assert "| body | Linear | 8x16 | 8x4 | 2 | 30.0 | 30% |" in section.text
    assert "All else takes 10%." in section.text and "calls of 100 us" in section.text
    assert "Replace one at a time" in section.text


@pytest.mark.parametrize("told", [None, Profile(), profile(), profile("one", "two")])
def test_a_variant_of_hardly_any_modules_is_written_as_a_whole(told: Profile | None) -> None:
    assert modules_section(told, "implement") is None


def test_a_repair_is_no_time_for_it() -> None:
    assert modules_section(profile(*PARTS), "repair") is None


def test_names_of_a_candidate_break_no_table() -> None:
    section = modules_section(profile("a|b", "c\nd", "e`f"), "optimize")
    assert section is not None
    rows = [line for line in section.text.splitlines() if line.startswith("| ")]
    assert len(rows) == 5 and {line.count("|") for line in rows} == {8}


def test_only_prompts_that_are_to_tell_it_do() -> None:
    problem = problem_task()
    for source, role in ((problem.baseline, "implement"), (Candidate(source="x = 1"), "optimize")):
        request = full_request(problem, source, Move("improve", 0), profile=profile(*PARTS))
        told, plain = built(request, problem_modules=True), built(request)
        assert MODULES_TITLE in sections(user(told)), role
        assert MODULES_TITLE not in user(plain)
        assert "+modules/1" in told.id and "+modules/1" not in plain.id


def test_the_table_is_left_out_before_what_must_stay() -> None:
    problem = problem_task()
    names = [f"{'x' * 50}{number}" for number in range(16)]
    request = full_request(
        problem, problem.baseline, Move("improve", 0), profile=profile(*names, us=1e3, each=60.0)
    )
    tight = built(request, problem_modules=True, prompt_tokens=5960)
    assert tight.dropped["steps"]
