"""Replies of a megabyte that are written to stall whoever reads them."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from codegen.chat.messages import LONGEST_REPLY
from codegen.chat.scrubbing import scrub
from codegen.dialects import writing_of
from codegen.dialects.kernelbench.constants import declared_constants, with_constants
from codegen.lookups.messages import calls_in
from mcts.domain import CUDA, HOST, KERNELBENCH, SPACE, Dialect, parse_launch_plan
from mcts.domain.launch_plan import LONGEST_PLAN
from mcts.errors import InputError, ProposalRejected
from profilers.compiling.includes import forbidden_include
from tests.codegen.cases import SCALE, ask, problem_task, space_task

REQUESTS = {
    CUDA: ask(),
    HOST: ask(problem_task()),
    KERNELBENCH: ask(problem_task()),
    SPACE: ask(space_task()),
}
PIECES = (
    "/* rooftree ", "/*rooftree\n", "/* ", "\\\"", 'R"(', "```" + " " * 5000 + "`\n",
    "__launch_bounds__(1) __global__ void f() {}\n", "A = " + " " * 5000 + "x\n",
    "@@ -1 +1 @@\n\n", "<<<<<<< SEARCH\n\n=======\n", "{", "[", "<tool_call>{", "Branches\n",
)  # fmt: skip


def repeated(piece: str, size: int = LONGEST_REPLY) -> str:
    return piece * (size // len(piece))


@pytest.mark.parametrize("dialect", list(REQUESTS))
@pytest.mark.parametrize("piece", PIECES, ids=lambda piece: repr(piece[:16]))
def test_a_reply_of_one_piece_is_read_in_linear_time(dialect: Dialect, piece: str) -> None:
    begin = time.process_time()
    for text in (repeated(piece), f"```cuda\n{repeated(piece, 250_000)}\n{SCALE}\n```"):
        calls_in(text)
        try:
            writing_of(dialect).read(text, REQUESTS[dialect])
        except ProposalRejected as error:
            assert str(error)
    assert time.process_time() - begin < 20


def test_a_patch_of_blank_lines_is_placed_in_linear_time() -> None:
    blank = "\n" * 100_000
    request = ask()
    parent = request.parent.model_copy(update={"source": f"{SCALE}{blank}// end\n{blank}"})
    patch = f"<<<<<<< SEARCH\n{blank}// nowhere\n=======\n>>>>>>> REPLACE\n"
    begin = time.process_time()
    with pytest.raises(ProposalRejected, match="does not fit"):
        writing_of(CUDA).read(patch, replace(request, parent=parent))
    assert time.process_time() - begin < 10


@pytest.mark.parametrize(
    ("plan", "told"),
    [
        ("a." * 20_000 + "b = 1", "more than 32 parts"),
        ("# " + "x" * LONGEST_PLAN, f"at most {LONGEST_PLAN} are read"),
        ("[[launch]]\nkernel = 'f'\nblock = [1]\ngrid = [0x" + "f" * 5000 + "]", "300 digits"),
        ("[tunables]\n" + "".join(f"T{i} = [1]\n" for i in range(99)), "64"),
    ],
)
def test_a_plan_past_its_limits_is_refused_in_a_line(plan: str, told: str) -> None:
    begin = time.process_time()
    with pytest.raises(InputError, match=told):
        parse_launch_plan(f"/* rooftree\n{plan}\n*/")
    assert time.process_time() - begin < 5


@pytest.mark.parametrize("piece", ["#include <", '#include "', "#/*", "# define a /*", "\\ "])
def test_includes_are_looked_for_in_linear_time(piece: str) -> None:
    begin = time.process_time()
    for end in ("", "*/", "\n"):
        forbidden_include(repeated(piece, 256 * 1024) + end)
    assert time.process_time() - begin < 10


def test_an_error_of_a_service_is_scrubbed_in_linear_time() -> None:
    begin = time.process_time()
    assert scrub(" " * 1_000_000 + "x", {}) == "x"
    assert scrub("it broke\n Traceback (most recent call last):\n  here", {}) == "it broke"
    assert time.process_time() - begin < 5


def test_a_marked_constant_keeps_the_blanks_around_it() -> None:
    source = "BLOCK  =\t256 \t #  tunable:  128, 256 \nN = 1  # no tunable\n"
    assert declared_constants(source).default() == {"BLOCK": 256}
    changed = "BLOCK  =\t128 \t #  tunable:  128, 256 \nN = 1  # no tunable\n"
    assert with_constants(source, {"BLOCK": 128}) == changed
