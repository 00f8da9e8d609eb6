"""Whatever a model says, reading it gives a candidate or a reason, and nothing else."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegen.branching import branches_of
from codegen.dialects import writing_of
from mcts.domain import CUDA, KERNELBENCH, SPACE, Dialect
from mcts.errors import ProposalRejected
from mcts.ports import ProposalRequest
from tests.codegen.cases import MODEL_NEW, SCALE, ask, problem_task, space_task

REQUESTS: dict[Dialect, ProposalRequest] = {
    CUDA: ask(),
    KERNELBENCH: ask(problem_task()),
    SPACE: ask(space_task()),
}
PIECES = (
    SCALE, MODEL_NEW, "```cuda\n", "```python\n", "```json\n", "```\n", "~~~\n", "````", "\n",
    "\r\n",
    "/* rooftree\n", "*/", "[[launch]]\n", 'kernel = "scale"\n', "[tunables]\nA = [1, 2]\n",
    'where = ["1 / 0"]\n', 'grid = ["2**63"]\nblock = ["x"]\n', "args = [1e999]\n",
    'extern "C" __global__ void scale(', "class ModelNew(nn.Module):\n", "    def forward(self):\n",
    "@@ -1,3 +1,3 @@\n", "--- a\n+++ b\n", "-x\n+y\n", "<<<<<<< SEARCH\n", "=======\n",
    ">>>>>>> REPLACE\n", "<think>", "</think>", '{"T1": 3}', '{"code": "x"}', "## Branches\n",
    '[{"BLOCK": 128}]', "## Plan\n", "memory.vectorized_loads", "[" * 50, "{" * 50, "(" * 50,
    "\x00", "\ufeff", "\ud83d", "\x1b[0m", "9" * 5000, "A = 1  # tunable: 1, 2\n", "\\\n", "'",
    '"""',
)  # fmt: skip
REPLIES = st.lists(st.sampled_from(PIECES) | st.text(max_size=20), max_size=30).map("".join)


def read(text: str, dialect: Dialect) -> None:
    request = REQUESTS[dialect]
    try:
        found = writing_of(dialect).read(text, request)
    except ProposalRejected as error:
        assert str(error)
        return
    assert found.candidate.id != request.parent.id
    found.candidate.model_dump_json()
    branches_of(found.candidate, found.branches, request, most=1)


@pytest.mark.parametrize("dialect", list(REQUESTS))
@settings(max_examples=150, deadline=None)
@given(text=REPLIES)
def test_any_text_is_read_or_rejected(dialect: Dialect, text: str) -> None:
    read(text, dialect)


@pytest.mark.parametrize("dialect", list(REQUESTS))
@settings(max_examples=50, deadline=None)
@given(value=st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
                          lambda inner: st.lists(inner) | st.dictionaries(
                              st.sampled_from(["code", "values", "branches", "plan", "T1", "x"]),
                              inner)))  # fmt: skip
def test_any_json_is_read_or_rejected(dialect: Dialect, value: object) -> None:
    read(json.dumps(value), dialect)


@pytest.mark.parametrize("dialect", list(REQUESTS))
def test_a_damaged_file_is_read_or_rejected(dialect: Dialect) -> None:
    """Characters of a good reply taken out, doubled or replaced, as a bad line does."""
    rng = random.Random(7)
    good = f"## Plan\n\nx\n\n```\n{SCALE if dialect == CUDA else MODEL_NEW}\n```\n"
    for _ in range(200):
        text = list(good)
        for _ in range(rng.randrange(1, 6)):
            at = rng.randrange(len(text))
            text[at : at + rng.randrange(4)] = rng.choice(["", "[", "}", '"', "\n", "0", "é"])
        read("".join(text), dialect)
