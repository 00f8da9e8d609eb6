"""The nouns: what can be built, what cannot, and that identity follows content."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from mcts.domain import (
    Build,
    Candidate,
    Evaluation,
    Profile,
    Timing,
    Tunable,
    TunableSpace,
    Verification,
    evaluate,
    evaluate_int,
    parse_launch_plan,
    tagged_hash,
)
from mcts.errors import InputError
from mcts.testing.toy import toy_task

PLAN = """// a header comment
/* rooftree
where = "BLOCK * VEC <= 512"
[tunables]
BLOCK = { values = [64, 128, 256], default = 128, methods = ["latency.block_size"] }
VEC = [1, 2, 4]
[[workspace]]
name = "partial"
size = "rows * 2"
[[launch]]
memset = "partial"
[[launch]]
kernel = "softmax"
grid = ["ceil_div(rows, 4)"]
block = ["BLOCK"]
args = ["x", "y", "partial", "rows", { value = "1.0 / cols", type = "float32" }]
when = "VEC > 1"
*/
extern "C" __global__ void softmax() {}
"""
BUFFERS = frozenset({"x", "y"})
SHAPE = frozenset({"rows", "cols"})


def timing(**changes: object) -> Timing:
    fields: dict[str, object] = {
        "median_us": 10.0,
        "low_us": 9.0,
        "high_us": 11.0,
        "baseline_us": 20.0,
        "speedup": 2.0,
        "speedup_low": 1.9,
        "speedup_high": 2.1,
        "rounds": 12,
    }
    return Timing.model_validate(fields | changes)


PASSED = Verification(passed=True, rounds=3, max_error=0.0, worst_ratio=0.0)
WRONG = Verification(passed=False, rounds=1, detail="37 of 96 elements of y differ")


class TestExpressions:
    @pytest.mark.parametrize(
        ("expression", "value"),
        [
            ("rows // 4 * 4", 96),
            ("ceil_div(rows, BLOCK)", 1),
            ("BLOCK / 32 * 4", 16),
            ("max(rows, 100) - -1", 101),
            ("rows if BLOCK > 64 else 0", 97),
            ("BLOCK in [64, 128] and not rows == 1", True),
            ("1 < 2 < 3", True),
            ("2 ** 10 + (1 << 3) + (17 >> 2) + (6 & 3) + (4 | 1)", 1024 + 8 + 4 + 2 + 5),
            (7, 7),
        ],
    )
    def test_values(self, expression: str | int, value: object) -> None:
        assert evaluate(expression, {"rows": 97, "BLOCK": 128}) == value

    @pytest.mark.parametrize(
        ("expression", "problem"),
        [
            ("rows / 4", "not a whole number; use ceil_div"),
            ("cols", "unknown name 'cols'"),
            ("rows //", "cannot read"),
            ("rows > 1 && rows < 9", "write `and` for &&"),
            ("rows ? 1 : 2", "write `A if C else B`"),
            ("rows // 0", "cannot evaluate"),
            ("2 ** 65", "exponent"),
            ("9 ** 64", "out of range"),
            ("((((1 / 9) ** 64) ** 64) ** 64) ** 64 > 0", "too fine"),
            ("__import__('os')", "not allowed"),
            ("rows.real", "not allowed"),
            ("[1, 2]", "cannot evaluate"),
            ("'a' * 10**9", "text"),
            ("'%0999999999d' % 5", "text"),
            ("1" + "0" * 30, "out of range"),
            ("max(1, 1e300)", "out of range"),
            ("(lambda: 1)()", "not allowed"),
            ("+".join(["1"] * 400), "longer than"),
        ],
    )
    def test_refusals_name_the_expression(self, expression: str, problem: str) -> None:
        with pytest.raises(InputError, match=problem):
            evaluate(expression, {"rows": 97})

    @given(st.text(max_size=80))
    def test_any_text_gives_a_value_or_one_error(self, text: str) -> None:
        try:
            evaluate(text, {"a": 3})
        except InputError as error:
            assert str(error)

    @given(st.integers(1, 10**6), st.integers(1, 4096))
    def test_ceil_div_covers_exactly(self, n: int, block: int) -> None:
        blocks = evaluate_int("ceil_div(n, block)", {"n": n, "block": block})
        assert (blocks - 1) * block < n <= blocks * block


class TestLaunchPlan:
    def test_reads_what_stands_in_the_comment(self) -> None:
        plan = parse_launch_plan(PLAN)
        assert plan.kernels == ("softmax",)
        assert plan.space.default() == {"BLOCK": 128, "VEC": 1}
        allowed = list(plan.space.configurations({"rows": 8, "cols": 8}))
        assert len(allowed) == 8
        assert {"BLOCK": 256, "VEC": 4} not in allowed
        plan.check_names(buffers=BUFFERS, shape=SHAPE)

    @pytest.mark.parametrize(
        ("old", "new", "problem"),
        [
            ('"x", "y"', '"x", "z"', "unknown buffer 'z'"),
            ('memset = "partial"', 'memset = "part"', "unknown buffer 'part'"),
            ("ceil_div(rows, 4)", "ceil_div(rovs, 4)", "names unknown 'rovs'"),
            ('"BLOCK * VEC <= 512"', '"BLOK <= 512"', "names unknown 'BLOK'"),
            ('name = "partial"', 'name = "x"', "has the name of a buffer"),
        ],
    )
    def test_unknown_names_are_named(self, old: str, new: str, problem: str) -> None:
        plan = parse_launch_plan(PLAN.replace(old, new))
        with pytest.raises(InputError, match=problem):
            plan.check_names(buffers=BUFFERS, shape=SHAPE)

    @pytest.mark.parametrize(
        ("old", "new", "problem"),
        [
            ("VEC = [1, 2, 4]", "VEC = [1, 2, ", r"not TOML.*line \d+"),
            ("default = 128", "default = 100", "default 100 is not among"),
            ('grid = ["ceil_div(rows, 4)"]\n', "", "needs `grid` and `block`"),
            ("[[launch]]", "[[lunch]]", "lunch"),
            ("VEC = [", '"V-C" = [', "'V-C' is not an identifier"),
            ("VEC = [1, 2, 4]", "VEC = [1.0, inf]", "not finite"),
            ("VEC = [1, 2, 4]", "VEC = [nan]", "not finite"),
            ("/* rooftree", "/* roofing", "no launch plan"),
        ],
    )
    def test_a_broken_plan_is_one_line(self, old: str, new: str, problem: str) -> None:
        with pytest.raises(InputError, match=problem) as caught:
            parse_launch_plan(PLAN.replace(old, new))
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize("value", ["9" * 5000, "[" * 5000])
    def test_a_hostile_plan_is_one_line_too(self, value: str) -> None:
        with pytest.raises(InputError, match="launch plan"):
            parse_launch_plan(f"/* rooftree\nX = {value}\n*/")

    def test_a_scalar_argument_may_be_a_plain_number(self) -> None:
        plan = parse_launch_plan(PLAN.replace('value = "1.0 / cols"', "value = 0.5"))
        plan.check_names(buffers=BUFFERS, shape=SHAPE)
        assert evaluate(0.5, {}) == 0.5

    def test_the_line_of_a_toml_error_counts_from_the_top_of_the_file(self) -> None:
        source = PLAN.replace("VEC = [1, 2, 4]", "VEC = = 3")
        line = source.splitlines().index("VEC = = 3") + 1
        with pytest.raises(InputError, match=f"line {line}"):
            parse_launch_plan(source)


class TestTunables:
    def test_out_of_range_unknown_and_missing(self) -> None:
        space = TunableSpace(tunables={"A": Tunable(values=(1, 2), default=1)})
        space.check({"A": 2})
        for wrong, problem in [
            ({"A": 3}, "A = 3 is out of range; one of: 1, 2"),
            ({"B": 1, "A": 1}, "unknown tunable 'B'"),
            ({}, "no value for tunable 'A'"),
        ]:
            with pytest.raises(InputError, match=problem):
                space.check(wrong)

    def test_a_default_is_the_declared_value_whatever_its_type(self) -> None:
        for default in (1, 1.0, True):
            tunable = Tunable(values=(2, 1), default=default)
            assert tunable.default == 1 and type(tunable.default) is int
            assert Tunable.model_validate_json(tunable.model_dump_json()) == tunable

    def test_rows_limit_the_space_to_what_was_recorded(self) -> None:
        tunables = {name: Tunable(values=(1, 2), default=1) for name in "AB"}
        space = TunableSpace(tunables=tunables, rows=((1, 1), (2, 2)))
        assert list(space.configurations({})) == [{"A": 1, "B": 1}, {"A": 2, "B": 2}]
        assert not space.allows({"A": 1, "B": 2}, {})


class TestIdentity:
    def test_claims_and_trailing_space_do_not_change_a_candidate(self) -> None:
        one = Candidate(source="int a;  \r\nint b;\n", tunables={"X": 1, "Y": 2})
        other = Candidate(
            source="int a;\nint b;", tunables={"Y": 2, "X": 1}, methods=("m",), rationale="why"
        )
        assert one.id == other.id
        assert one.id != Candidate(source="int a;\nint c;", tunables={"X": 1, "Y": 2}).id

    def test_the_tag_separates_kinds_and_nan_has_no_identity(self) -> None:
        assert tagged_hash("a", {"x": 1}) != tagged_hash("b", {"x": 1})
        with pytest.raises(ValueError, match="JSON"):
            tagged_hash("a", math.nan)

    def test_a_task_keeps_its_id_when_only_its_summary_changes(self) -> None:
        task = toy_task()
        assert task.model_copy(update={"summary": "other"}).id == task.id
        assert task.model_copy(update={"name": "other"}).id != task.id


class TestEvaluation:
    def test_each_status_takes_its_parts(self) -> None:
        Evaluation(candidate_id="c", status="compile_failed", message="m", build=Build(log="x"))
        Evaluation(candidate_id="c", status="wrong_result", message="m", verification=WRONG)
        Evaluation(candidate_id="c", status="suspect", message="clocks differ", timing=timing())
        whole = Evaluation(
            candidate_id="c",
            status="measured",
            verification=PASSED,
            timing=timing(),
            profile=Profile(missing={"sass": "no disassembler"}),
        )
        assert whole.speedup == 2.0
        assert Evaluation.model_validate_json(whole.model_dump_json()) == whole

    @pytest.mark.parametrize(
        ("fields", "problem"),
        [
            ({"status": "compile_failed", "message": "m", "timing": timing()}, "has no timing"),
            ({"status": "wrong_result", "message": "m"}, "needs verification"),
            ({"status": "wrong_result", "message": "m", "verification": PASSED}, "cannot have"),
            ({"status": "measured", "verification": PASSED}, "needs timing"),
            ({"status": "measured", "verification": WRONG, "timing": timing()}, "must have passed"),
            ({"status": "timed_out"}, "needs a message"),
            ({"status": "runtime_error", "message": "m", "profile": Profile()}, "has no profile"),
        ],
    )
    def test_a_status_refuses_what_it_cannot_have(
        self, fields: dict[str, object], problem: str
    ) -> None:
        with pytest.raises(ValidationError, match=problem):
            Evaluation.model_validate({"candidate_id": "c", **fields})

    @pytest.mark.parametrize(
        "wrong", [{"low_us": 10.5}, {"speedup_high": 1.5}, {"median_us": 0}, {"speedup": math.inf}]
    )
    def test_intervals_contain_their_point(self, wrong: dict[str, float]) -> None:
        with pytest.raises(ValidationError):
            timing(**wrong)

    def test_a_suspect_has_no_speedup(self) -> None:
        suspect = Evaluation(candidate_id="c", status="suspect", message="m", timing=timing())
        assert suspect.speedup is None

    def test_unknown_fields_are_refused(self) -> None:
        with pytest.raises(ValidationError):
            Candidate.model_validate(json.loads('{"sauce": "typo"}'))
