"""Replies for KernelBench problems: a ModelNew that stands on its own, or a reason."""

from __future__ import annotations

import json

import pytest

from codegen.dialects import writing_of
from codegen.dialects.kernelbench.constants import declared_constants, with_constants
from mcts.domain import KERNELBENCH, Candidate
from mcts.errors import InputError, ProposalRejected
from tests.codegen.cases import MODEL_NEW, PROBLEM, ask, problem_task

PROSE = "## Analysis\n\nThree kernels.\n\n## Plan\n\nFuse them: memory.fused_passes\n\n## Code\n\n"
PARENT = Candidate(source=MODEL_NEW)
FASTER = MODEL_NEW.replace("expf(", "__expf(")


def parse(text: str, parent: Candidate | None = None, **policy: object) -> Candidate:
    request = ask(problem_task(**policy), parent=parent or problem_task().baseline)
    return writing_of(KERNELBENCH).read(text, request).candidate


def fenced(code: str, language: str = "python") -> str:
    return f"{PROSE}```{language}\n{code}\n```\nGood luck!"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(fenced(FASTER), id="python"),
        pytest.param(fenced(FASTER, ""), id="no language"),
        pytest.param(f"{PROSE}~~~py\n{FASTER}\n~~~", id="tildes"),
        pytest.param(FASTER, id="no fence"),
        pytest.param(f"Sure, here is a ModelNew:\n\n{FASTER}", id="talk before"),
        pytest.param(fenced(FASTER).replace("\n", "\r\n"), id="carriage returns"),
        pytest.param(f"```cpp\n__global__ void k() {{}}\n```\n{fenced(FASTER)}", id="kernel apart"),
        pytest.param(f"```python\n{PROBLEM}\n```\n{fenced(FASTER)}", id="the problem quoted"),
        pytest.param(f"{fenced(FASTER)}\n```python\nmodel = ModelNew(1, 2, 3)\n```", id="a usage"),
        pytest.param(json.dumps({"plan": "memory.fused_passes", "code": FASTER}), id="JSON"),
    ],
)
def test_the_file_is_found_wherever_it_stands(text: str) -> None:
    candidate = parse(text)
    assert "__expf(" in candidate.source and candidate.source.startswith("import torch")
    assert candidate.tunables == {}
    compile(candidate.source, "candidate.py", "exec")


def test_methods_and_reason_come_with_it() -> None:
    candidate = parse(fenced(FASTER))
    assert candidate.methods == ("memory.fused_passes",)
    assert candidate.rationale.startswith("Fuse them")


def test_a_patch_changes_the_parent() -> None:
    line = "BLOCK = 256  # tunable: 128, 256, 512"
    edit = f"<<<<<<< SEARCH\n{line}\n=======\nBLOCK = 64\n>>>>>>> REPLACE"
    candidate = parse(f"{PROSE}```python\n{edit}\n```", PARENT)
    assert candidate.source == MODEL_NEW.replace(line, "BLOCK = 64")


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("x = 1", "no block defines a class ModelNew"),
        (FASTER.replace("(self, x):", "(self, x)"), r"line \d+: expected ':'"),
        (FASTER.replace("(nn.Module)", ""), "inherit from torch.nn.Module"),
        (FASTER.replace("def forward", "def backward"), "no forward"),
        ("class ModelNew(Module):\n    def forward(self, x):\n        pass\n", "placeholder"),
        (f"{PROBLEM}\nclass ModelNew(Model):\n    pass\n", "copy of the reference"),
        ("from torch import nn\nclass ModelNew(Model):\n    pass\n", "does not exist where"),
        (f"{FASTER}\n\nbest = Model(512, 1024, 0.5)\n", "line .* uses the class Model"),
        (f"{PROBLEM}\nModelNew = Model\n", "copy of the reference"),
        (f"from mcts.domain import Noun\n{FASTER}", "nothing of Rooftree's but"),
        (FASTER.replace("256  # tunable: 128, 256", "256  # tunable: 128"), "256 is not among"),
        (FASTER.replace("256, 512\n", "256, BIG\n"), "must be numbers or strings"),
        (f"{FASTER}\n# ... rest of the class unchanged\n", "not complete"),
        ("class ModelNew:" + "(" * 5000, "no Python"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_says_why(code: str, reason: str) -> None:
    with pytest.raises(ProposalRejected, match=reason):
        parse(fenced(code))


def test_without_a_kernel_of_its_own_it_depends_on_the_policy() -> None:
    plain = FASTER.partition("from codegen")[0] + (
        "class ModelNew(nn.Module):\n    def forward(self, x):\n        return torch.exp(x)\n"
    )
    assert parse(fenced(plain)).source == plain
    with pytest.raises(ProposalRejected, match="no kernel of its own"):
        parse(fenced(plain), libraries="forbidden")


def test_the_parent_again_is_no_proposal() -> None:
    with pytest.raises(ProposalRejected, match="changes nothing"):
        parse(fenced(MODEL_NEW), PARENT)


class TestConstants:
    def test_marked_constants_are_a_space(self) -> None:
        text = 'A = 4  # tunable: 2, 4\nMODE = "x"   # tunable: "x", "y"\nB = 3  # plain\n'
        space = declared_constants(text)
        assert space.default() == {"A": 4, "MODE": "x"}
        assert with_constants(text, {"A": 2, "MODE": "y", "B": 9}) == (
            'A = 2  # tunable: 2, 4\nMODE = \'y\'   # tunable: "x", "y"\nB = 3  # plain\n'
        )

    @pytest.mark.parametrize(
        "text",
        [
            "A = f()  # tunable: 1, 2",
            "A = 1  # tunable: 2",
            "A = 1  # tunable: 1, 1",
            "A = 1, 2  # tunable: 1, 2",
            "A = 1  # tunable: 1, 2\nA = 1  # tunable: 1, 2",
            "A = 1  # tunable: [1], 1",
            "A = 1  # tunable:",
        ],
    )
    def test_constants_that_cannot_be_read_are_refused(self, text: str) -> None:
        with pytest.raises(InputError, match="line"):
            declared_constants(text)
