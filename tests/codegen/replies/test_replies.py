"""Replies of all shapes become candidates, or reasons."""

from __future__ import annotations

import json
import re
import time

import pytest

from codegen.dialects import Read, writing_of
from codegen.plan_text import kernel_names, with_defaults
from codegen.replies import without_thoughts
from mcts.domain import CUDA, SPACE, Candidate, parse_launch_plan
from mcts.errors import ProposalRejected
from mcts.ports import ProposalRequest
from tests.codegen.cases import DEFAULTS, FASTER, SCALE, ask, space_task

PROSE = (
    "## Analysis\n\nNarrow loads; memory.async_copy would not help.\n\n"
    "## Plan\n\nLoad wider: memory.vectorized_loads, compute.brand_new\n\n## Code\n\n"
)
LINE = "        if (i < n) y[i] = 2.0f * x[i];"
EDIT = f"<<<<<<< SEARCH\n{LINE}\n=======\n{LINE.replace('2.0f *', 'x[i] +')}\n>>>>>>> REPLACE"
DIFF = f"--- a/x.cu\n+++ b/x.cu\n@@ -19,1 +19,1 @@\n-{LINE}\n+{LINE.replace('2.0f *', 'x[i] +')}"


def parse_reply(
    text: str, request: ProposalRequest, *, finish_reason: str | None = None
) -> Candidate:
    return writing_of(CUDA).read(text, request, finish_reason=finish_reason).candidate


def parse_values(text: str, request: ProposalRequest) -> Candidate:
    return writing_of(SPACE).read(text, request).candidate


def fenced(code: str, language: str = "cuda") -> str:
    return f"{PROSE}```{language}\n{code}\n```\nGood luck!"


@pytest.mark.parametrize("language", ["cuda", "cpp", "c++", "", "CUDA C++", "cu title=kernel.cu"])
def test_any_fence_will_do(language: str) -> None:
    candidate = parse_reply(fenced(FASTER, language), ask())
    assert "x[i] + x[i]" in candidate.source
    assert candidate.tunables == DEFAULTS
    assert candidate.methods == ("memory.vectorized_loads", "compute.brand_new")
    assert candidate.rationale.startswith("Load wider")


@pytest.mark.parametrize(
    ("plan", "name", "rationale"),
    [
        ("Name: float4 loads, one pass\n\nLoads are narrow.", "float4 loads, one pass",
         "Loads are narrow."),
        ("**Name:** `float4 loads`\nLoads are narrow.", "float4 loads", "Loads are narrow."),
        ("- name: float4 loads.\n- Wider. \n- Then fewer.", "float4 loads", "Wider. Then fewer."),
        ("Loads are narrow. The name: none.", "", "Loads are narrow. The name: none."),
        ("Name:\nLoads are narrow.", "", "Loads are narrow."),
        (f"Name: {'wide ' * 40}\nWhy.", ("wide " * 40)[:77] + "...", "Why."),
        ("Methods: `memory.vectorized_loads`, memory.async_copy\nWider, **then** async.", "",
         "Wider, then async."),
        ("Wider. " * 200, "", ("Wider. " * 200)[:597] + "..."),
    ],
)  # fmt: skip
def test_the_plan_names_the_variant_and_says_why(plan: str, name: str, rationale: str) -> None:
    text = (
        f"## Analysis\n\nName: not this\n\n## Plan\n\n{plan}\n\n## Code\n\n```cuda\n{FASTER}\n```"
    )
    candidate = parse_reply(text, ask())
    assert (candidate.name, candidate.rationale) == (name, rationale)
    assert candidate.id == Candidate(source=candidate.source, tunables=candidate.tunables).id


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(FASTER, id="no fence at all"),
        pytest.param(f"Sure, here it is:\n\n{FASTER}", id="talk before the plan"),
        pytest.param(f"{PROSE}~~~~cuda\n{FASTER}\n~~~~", id="tildes"),
        pytest.param(f"{PROSE}```cuda\n{FASTER}", id="fence never closed"),
        pytest.param(fenced(FASTER).replace("\n", "\r\n"), id="carriage returns"),
        pytest.param(f"```cuda\nx[i] + x[i]\n```\n{fenced(FASTER)}", id="a snippet first"),
        pytest.param(f"```cuda\n__global__ void old() {{}}\n```\n{fenced(FASTER)}", id="old code"),
        pytest.param(f"```cuda\n{SCALE}// as it is\n```\n{fenced(FASTER)}", id="the parent quoted"),
        pytest.param(f"\ufeff```cuda\n{FASTER}\n```", id="byte order mark"),
        pytest.param(f"```markdown\n{fenced(FASTER)}\n```", id="a fence around all of it"),
        pytest.param(fenced(f"{FASTER}// half an emoji: \ud83d"), id="lone surrogate"),
        pytest.param(f"<think>\n```cuda\n{SCALE}\n```\n</think>\n{fenced(FASTER)}", id="thoughts"),
        pytest.param(f"perhaps ... </think>{fenced(FASTER)}", id="thoughts begun earlier"),
        pytest.param(json.dumps({"analysis": "slow", "code": FASTER}), id="JSON"),
        pytest.param(f"```json\n{json.dumps({'code': fenced(FASTER)})}\n```", id="fenced JSON"),
        pytest.param(f"{PROSE}{EDIT}", id="search and replace"),
        pytest.param(f"{PROSE}```\n{EDIT}\n```", id="search and replace in a fence"),
        pytest.param(f"{PROSE}```diff\n{DIFF}\n```", id="diff"),
        pytest.param(f"{PROSE}```\n{DIFF.replace('@@ -19,1 +19,1 @@', '@@')}\n```", id="bare hunk"),
        pytest.param(
            f"{PROSE}```diff\n{DIFF}\n```\nall of it:\n{fenced(FASTER)}", id="diff and file"
        ),
    ],
)
def test_the_file_is_found_wherever_it_stands(text: str) -> None:
    candidate = parse_reply(text, ask())
    assert "x[i] + x[i]" in candidate.source
    assert not candidate.source.startswith("#") and "```" not in candidate.source
    assert parse_launch_plan(candidate.source).kernels == ("scale",)
    candidate.model_dump_json().encode()


def test_a_plan_in_a_block_of_its_own_is_joined() -> None:
    plan, code = FASTER.split("*/\n", 1)
    text = f"{PROSE}```toml\n{plan}*/\n```\nand\n```cuda\n{code}\n```"
    assert parse_reply(text, ask()).source.startswith("/* rooftree")


def test_code_without_a_plan_borrows_the_parents_when_its_kernels_are_the_same() -> None:
    parent = Candidate(source=SCALE, tunables={**DEFAULTS, "BLOCK": 256})
    code = FASTER.split("*/\n", 1)[1]
    assert parse_reply(fenced(code), ask(parent=parent)).tunables["BLOCK"] == 256
    with pytest.raises(ProposalRejected, match=r"no /\* rooftree.*kernels are not the parent's"):
        parse_reply(fenced(code.replace("scale(", "other(")), ask(parent=parent))


def test_a_reply_that_only_moves_defaults_is_the_same_candidate_as_the_move() -> None:
    values = {**DEFAULTS, "BLOCK": 256, "HINT": 1}
    candidate = parse_reply(fenced(with_defaults(SCALE, values)), ask())
    assert candidate.id == Candidate(source=SCALE, tunables=values).id


@pytest.mark.parametrize(
    ("old", "new", "default"),
    [
        ("values = [0, 1], default = 0", "values = [0, 2], default = 2", 2),
        ("values = [0, 1], default = 0", "values = ['plain', '\U0001f680']", "plain"),
    ],
)
def test_a_reply_may_declare_other_values_than_its_parent(
    old: str, new: str, default: object
) -> None:
    candidate = parse_reply(fenced(SCALE.replace(old, new)), ask())
    assert candidate.tunables["HINT"] == default


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        (" a" * 1_000_000, "more than 1000000 characters"),
        (fenced(FASTER.replace("HINT =", '"HI-NT" =')), "not an identifier"),
        (fenced(FASTER.replace("[0, 1], default = 0", "[inf]")), "not finite"),
        ("I'm sorry, but I can't help with that.", "no CUDA code"),
        (fenced("x = 1"), "no CUDA code"),
        (fenced(SCALE), "changes nothing"),
        (fenced(FASTER.replace('"x", "y"', '"x", "z"')), "unknown buffer 'z'"),
        (fenced(FASTER.replace("values = [1, 2, 4]", "values = [1, 2")), "not TOML"),
        (fenced(FASTER.replace("default = 64", "default = 65")), "65 is not among"),
        (fenced(FASTER.replace("VEC == 0", "VEC == 1")), "excludes the default values"),
        (fenced(FASTER.replace('block = ["BLOCK"]', "block = [2048]")), "2048 threads per block"),
        (fenced(FASTER.replace("n, BLOCK * ITEMS", "n, 0")), "cannot evaluate"),
        (fenced(FASTER.replace('kernel = "scale"', 'kernel = "lost"')), "no __global__ function"),
        (fenced(FASTER.replace('extern "C" ', "")), 'extern "C"'),
        (fenced(FASTER + "/" * 300_000), "larger than 256 KB"),
        (fenced(FASTER.replace("ceil_div(n, BLOCK * ITEMS)", "2**31")), "exceeds the limits"),
        ("<think>what now", "nothing behind its thoughts"),
        (EDIT.replace("y[i]", "z[i]"), "does not fit: its lines from 'if .i < n. z"),
        ("<<<<<<< SEARCH\n\n=======\nx\n>>>>>>> REPLACE", "names no line"),
        ("<<<<<<< SEARCH\nx\n=======\ny\n", "not closed"),
        ("```diff\n+++ b\n```", "no change that can be read"),
        (f"```diff\n@@ -1 +1 @@\n-{LINE}x\n+y\n```", "does not fit"),
        (json.dumps({"code": "x = 1"}), "no CUDA code"),
    ],
)
def test_a_reply_that_cannot_be_used_says_why(text: str, reason: str) -> None:
    with pytest.raises(ProposalRejected, match=reason):
        parse_reply(text, ask())


def test_a_reply_that_was_cut_off_or_withheld_is_no_candidate() -> None:
    with pytest.raises(ProposalRejected, match="cut off"):
        parse_reply(fenced(FASTER), ask(), finish_reason="length")
    with pytest.raises(ProposalRejected, match="withheld"):
        parse_reply("", ask(), finish_reason="content_filter")


def test_a_line_that_occurs_twice_is_told_apart_by_its_number_or_not_at_all() -> None:
    parent = Candidate(source=SCALE + "// twin\n// twin\n", tunables=DEFAULTS)
    last = len(parent.source.splitlines())
    diff = f"```diff\n@@ -{last} +{last} @@\n-// twin\n+// other\n```"
    assert parse_reply(diff, ask(parent=parent)).source.endswith("// twin\n// other\n")
    edit = "<<<<<<< SEARCH\n// twin\n=======\n// other\n>>>>>>> REPLACE"
    with pytest.raises(ProposalRejected, match="fits in 2 places"):
        parse_reply(edit, ask(parent=parent))


def test_a_patch_is_applied_to_the_variant_as_it_was_shown() -> None:
    parent = Candidate(source=SCALE, tunables={**DEFAULTS, "BLOCK": 512})
    assert parse_reply(EDIT, ask(parent=parent)).tunables["BLOCK"] == 512


def test_a_patch_leaves_what_else_unicode_ends_lines_with_where_it_stands() -> None:
    odd = 'const char* words = "a\u2028b\x0cc\x85d";'
    parent = Candidate(source=f"{SCALE}{odd}\n", tunables=DEFAULTS)
    edit = f"<<<<<<< SEARCH\n{odd}\n=======\n{odd} // kept\n>>>>>>> REPLACE"
    assert parse_reply(edit, ask(parent=parent)).source.endswith(f"{odd} // kept\n")


@pytest.mark.parametrize(
    ("listed", "found"),
    [
        ('```json\n[{"BLOCK": 128}, {"VEC": 4, "ITEMS": 4}]\n```', [128, None]),
        ('[{"BLOCK": 128}, {"BLOCK": [1]}, 7]', [128]),
        ("none worth it", []),
        ('[{"BLOCK": 12', []),
        ('{"BLOCK": 128}', []),
    ],
)
def test_readable_branches_are_read(listed: str, found: list[int | None]) -> None:
    read: Read = writing_of(CUDA).read(f"{fenced(FASTER)}\n## Branches\n\n{listed}", ask())
    assert [branch.get("BLOCK") for branch in read.branches] == found
    assert "x[i] + x[i]" in read.candidate.source


def test_claims_come_from_the_plan_alone() -> None:
    text = f"{fenced(FASTER)}\n## Branches\n\nlatency.block_size matters"
    candidate = parse_reply(text, ask())
    assert candidate.methods == ("memory.vectorized_loads", "compute.brand_new")


def test_thoughts_may_nest_and_need_not_end() -> None:
    assert without_thoughts("a<think>b<think>c</think>d</think>e<THINK>f") == "ae"


def test_device_headers_are_welcome() -> None:
    source = "#include <cuda_fp16.h>\n#include <cuda/pipeline>\n" + FASTER
    assert parse_reply(fenced(source), ask()).source.startswith("#include <cuda_fp16.h>")


def test_kernel_names_are_read_past_attributes_and_directives() -> None:
    source = """
    template <int N> __device__ int helper(int a);
    extern "C" __global__ void
    #if BOUNDS
    __launch_bounds__(BM * BN / (TM * TN))
    #endif
    first(const float* x);
    __launch_bounds__(64) __global__ void second() {}  // __global__ void third() {}
    """
    assert kernel_names(source) == {"first", "second"}


def test_a_model_that_repeats_itself_is_read_in_no_time() -> None:
    begin = time.perf_counter()
    assert kernel_names("__global__ " * 20_000 + "void last(") == {"last"}
    assert time.perf_counter() - begin < 2


def test_values_that_the_plan_does_not_list_leave_the_source_alone() -> None:
    assert with_defaults(SCALE, {**DEFAULTS, "BLOCK": 65}) == SCALE
    text = SCALE.replace(
        "values = [0, 1], default = 0", 'values = ["a", "\U0001f680"], default = "a"'
    )
    edited = with_defaults(text, {**DEFAULTS, "HINT": "\U0001f680"})
    assert parse_launch_plan(edited).space.default()["HINT"] == "\U0001f680"


def test_defaults_are_rewritten_in_the_plan_alone() -> None:
    values = {**DEFAULTS, "BLOCK": 512, "ITEMS": 4}
    edited = with_defaults(SCALE, values)
    assert parse_launch_plan(edited).space.default() == values
    assert edited.split("*/", 1)[1] == SCALE.split("*/", 1)[1]
    assert with_defaults(edited, DEFAULTS) == SCALE


@pytest.mark.parametrize(
    "declared",
    [
        "BLOCK = [64, 128]",
        "BLOCK = { values = [64, 128] }",
        'BLOCK = { values = [64, 128], help = "default is 64" }',
        "BLOCK = { values = [64, 128], default = 64 }",
    ],
)
def test_a_default_is_put_in_whether_or_not_one_stands_there(declared: str) -> None:
    text = re.sub(r"^BLOCK .*$", declared, SCALE, flags=re.MULTILINE)
    usual = parse_launch_plan(text).space.default()
    edited = with_defaults(text, {**usual, "BLOCK": 128})
    assert parse_launch_plan(edited).space.default() == {**usual, "BLOCK": 128}
    assert edited.split("*/", 1)[1] == text.split("*/", 1)[1]
    assert with_defaults(text, usual) == text


class TestValues:
    request = ask(space_task())

    @pytest.mark.parametrize(
        "text",
        [
            'Why.\n```json\n{"T1": 3}\n```',
            'Why.\n```\n{"T1": 3.0}\n```',
            'I choose {"T1": "3"}.',
            '{"analysis": "slow", "values": {"T1": 3}}',
            'Before:\n```\nT1 = 0\n```\nI choose {"T1": 3}.',
            '```json\n{"T1": 2}\n```\nNo, better:\n```json\n{"T1": 3}\n```',
        ],
    )
    def test_values_left_out_keep_the_parents(self, text: str) -> None:
        candidate = parse_values(text, self.request)
        assert candidate.tunables == {"T0": 0, "T1": 3, "T2": 0}
        assert candidate.id == Candidate(tunables={"T0": 0, "T1": 3, "T2": 0}).id

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("Bigger blocks.", "no JSON object"),
            ('{"T9": 1}', "unknown tunable 'T9'"),
            ('{"T1": 17}', "T1 = 17 is out of range"),
            ('```json\n{"T1": [1, 2]}\n```', "not a single value"),
            ('{"T1": 0}', "changes nothing"),
        ],
    )
    def test_values_that_cannot_be_used_say_why(self, text: str, reason: str) -> None:
        with pytest.raises(ProposalRejected, match=reason):
            parse_values(text, self.request)

    def test_excluded_combinations_are_rejected(self) -> None:
        request = ask()
        with pytest.raises(ProposalRejected, match="excluded"):
            parse_values('{"BLOCK": 512, "ITEMS": 8}', request)
