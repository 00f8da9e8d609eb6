"""Which methods a kernel still claims."""

from __future__ import annotations

from experiments.views.claims import standing_methods
from mcts.domain import Candidate
from mcts.journal.record import NodeRecord

SOURCE = """/* rooftree
[tunables]
VEC = { values = [1, 4], default = 1, methods = ["memory.vectorized_loads"] }
FAST = { values = [0, 1], default = 0, methods = ["compute.fast_math"] }
[[launch]]
kernel = "k"
grid = [1]
block = [32]
args = []
*/
extern "C" __global__ void k() {}
"""


def line(*steps: tuple[dict[str, int], tuple[str, ...]], source: str = SOURCE) -> list[NodeRecord]:
    """A line of nodes with these tunables and claims, each in `source` but the first."""
    return [
        NodeRecord(
            id=number, parent=number - 1 if number else None, kind="measured",
            candidate=Candidate(
                source=source if number else SOURCE, tunables=tunables, methods=methods
            ),
            evaluation=None, guidance=None, reward=0.0, prior=0.0, visits=1, value=0.0,
        )
        for number, (tunables, methods) in enumerate(steps)
    ]  # fmt: skip


def test_a_method_that_was_switched_off_again_is_not_claimed() -> None:
    path = line(
        ({"VEC": 1, "FAST": 0}, ()),
        ({"VEC": 4, "FAST": 1}, ("memory.vectorized_loads", "compute.fast_math")),
        ({"VEC": 4, "FAST": 0}, ("own.reordering",)),
    )
    assert standing_methods(path) == ("memory.vectorized_loads", "own.reordering")
    assert standing_methods(path[:2]) == ("memory.vectorized_loads", "compute.fast_math")
    assert standing_methods(path[:1]) == ()


def test_a_method_is_not_taken_back_if_the_code_changed() -> None:
    steps = ({"VEC": 1, "FAST": 0}, ()), ({"VEC": 1, "FAST": 0}, ("compute.fast_math",))
    assert standing_methods(line(*steps, source=SOURCE + "// rewritten\n")) == (
        "compute.fast_math",
    )
    assert standing_methods(line(*steps)) == ()


def test_a_method_switched_on_and_off_after_a_rewrite_is_taken_back() -> None:
    path = line(
        ({"VEC": 1, "FAST": 0}, ()),
        ({"VEC": 1, "FAST": 0}, ("own.reordering",)),
        ({"VEC": 4, "FAST": 1}, ("memory.vectorized_loads", "compute.fast_math")),
        ({"VEC": 1, "FAST": 1}, ()),
        source=SOURCE + "// rewritten\n",
    )
    assert standing_methods(path) == ("own.reordering", "compute.fast_math")
