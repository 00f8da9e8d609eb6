"""Every dialect has a folder that says how its candidates are written."""

from __future__ import annotations

import pytest

from codegen.dialects import Writing, writing_of
from codegen.prompting.roles import VERSIONS
from mcts.domain import CUDA, DIALECTS, HOST, KERNELBENCH, SPACE, Dialect
from tests.codegen.cases import MODEL_NEW, ask, problem_task, scale_task, space_task
from tests.support.prompt_ids import prompt_id


@pytest.mark.parametrize("dialect", DIALECTS.values())
def test_every_dialect_has_a_contract_and_every_role_an_order(dialect: Dialect) -> None:
    writing = writing_of(dialect)
    assert isinstance(writing, Writing) and writing is writing_of(dialect)
    assert writing.contract.text and writing.contract.reply(0)
    assert all(writing.contract.order(role) for role in VERSIONS)
    assert writing.contract.whole_file == dialect.has_source


def test_a_template_of_its_own_is_named_in_the_prompts_id() -> None:
    ids = {
        dialect: writing_of(dialect).contract.prompt_id("implement")
        for dialect in DIALECTS.values()
    }
    assert ids[HOST] == prompt_id("implement", "_host") and ids[CUDA] == ids[
        KERNELBENCH
    ] == prompt_id("implement")
    assert writing_of(SPACE).contract.prompt_id("repair") == prompt_id("repair", "_values")


def test_only_device_code_can_be_asked_for_values_alone() -> None:
    for dialect in (KERNELBENCH, HOST, SPACE):
        assert writing_of(dialect).asked(tunables_only=True) is writing_of(dialect)
    assert writing_of(CUDA).asked(tunables_only=False) is writing_of(CUDA)
    assert writing_of(CUDA).asked(tunables_only=True) is writing_of(SPACE)


def test_other_values_stand_where_the_dialect_keeps_them() -> None:
    for task, values in ((scale_task(), {"BLOCK": 128}), (space_task(), {"T0": 1})):
        writing, whole = writing_of(task.dialect), {**task.baseline.tunables, **values}
        found = writing.with_values(task.baseline, whole, task)
        assert (found.source, found.tunables) == (task.baseline.source, whole)
    model = ask(problem_task()).task.baseline.model_copy(update={"source": MODEL_NEW})
    python = writing_of(KERNELBENCH)
    assert python.space_of(model, problem_task()).default() == {"BLOCK": 256}
    found = python.with_values(model, {"BLOCK": 512}, problem_task())
    assert "BLOCK = 512" in found.source and found.tunables == {}
