"""The clinic: its truth table holds together, its scores count right, its recording is complete."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.benchmarks.clinic import profiling
from experiments.benchmarks.clinic.cases import (
    BUNDLED,
    FOLDER,
    HALVES,
    ClinicCase,
    ClinicKernel,
    clinic_cases,
    clinic_kernels,
    kernels_folder,
)
from experiments.benchmarks.clinic.scores import CaseResult, by_kind, predicted_gains, score
from experiments.inspect.inspecting import inspect_file
from experiments.inspect.request import InspectRequest
from experiments.inspect.results import as_json
from mcts.domain import AxisGap, BoundClass, Finding, Guidance, Roofline
from mcts.errors import InputError
from mcts.microtool.tool import ANY, KernelContext, Tool
from microtools import registry
from tests.support.commands import completed, json_of, refused, rooftree

ALL = clinic_kernels()
UNSEEN = clinic_kernels(BUNDLED["unseen"])
CAUSES = clinic_kernels(BUNDLED["causes"])
FROZEN = "bac565cd1fca0d2acef03b03e5f33f0141c47358da21368d27e94d2cb71f801d"
TOOLS = {tool.name for tool in registry.builtin()}


TABLE = """
[[exhibit]]
file = "x.cu"
half = "held_out"
ailment = "strided"
expects = ["coalescing"]
class = ["memory"]
class_repaired = ["memory"]
why = "because"
"""


def kernel(**changes: object) -> ClinicKernel:
    fields: dict[str, object] = {
        "file": "x.cu", "half": "tuning", "ailment": "strided", "expects": ["coalescing"],
        "also": ["global_latency"], "also_repaired": ["dram_saturated"], "class": ["memory"],
        "class_repaired": ["memory", "mixed"], "why": "because", "folder": kernels_folder(),
    }  # fmt: skip
    return ClinicKernel.model_validate({**fields, **changes})


def examined(
    *tools: str, repaired: bool = False, bound: BoundClass = "memory", **changes: object
) -> CaseResult:
    findings = tuple(
        Finding(tool=tool, axis="memory", strength=0.5, evidence=(), advice="") for tool in tools
    )
    roofline = Roofline(
        bound=bound, confidence=1.0, gap=AxisGap(compute=0, memory=0, latency=0), near_peak=False,
        method_budget={},
    )  # fmt: skip
    case = ClinicCase(kernel(**changes), repaired)
    return CaseResult(case, Guidance(roofline=roofline, findings=findings))


def test_every_kernel_has_its_truth_and_every_truth_its_kernel() -> None:
    sets = ((ALL, FOLDER), (UNSEEN, BUNDLED["unseen"]), (CAUSES, BUNDLED["causes"]))
    for kernels, folder in sets:
        files = {path.name for path in kernels_folder(folder).glob("*.cu")}
        assert {one.file for one in kernels} == files
        assert len(files) == len(kernels)


@pytest.mark.parametrize("name", ["causes", "unseen"])
def test_a_bundled_set_is_recorded(name: str) -> None:
    """But for one kernel, whose header was missing where the others were profiled."""
    cases = clinic_cases(clinic_kernels(BUNDLED[name]))
    lacking = profiling.unrecorded(cases, profiling.default_recording(BUNDLED[name]))
    assert lacking == (["f_token_projection"] if name == "unseen" else [])


def test_kernels_without_a_profile_are_left_out_by_name() -> None:
    found = completed("clinic", "--set", "unseen")
    assert "nvidia_h200.json.gz has no profile of them as they are now: f_tok" in found.stderr
    assert "43 of 44 kernels" in found.stdout and "and its level of memory: " in found.stdout
    table = json_of("clinic", "--set", "unseen")
    assert table["left_out"] == ["f_token_projection"] and table["ill"] == 43


def test_a_recording_of_other_kernels_is_none() -> None:
    cases = clinic_cases(clinic_kernels(BUNDLED["unseen"]))
    with pytest.raises(InputError, match="record them again"):
        profiling.unrecorded(cases, profiling.default_recording(BUNDLED["causes"]))


def test_how_the_tools_do_on_each_kind_of_fault() -> None:
    cases = clinic_cases(clinic_kernels(BUNDLED["causes"]))
    found = profiling.examine(
        profiling.replayed(cases, profiling.default_recording(BUNDLED["causes"]))
    )
    kinds = by_kind(found)
    assert [one.kind for one in kinds] == sorted({one.ailment for one in CAUSES})
    assert all(one.kernels == 6 >= one.among_first >= one.first for one in kinds)
    scores = score(found)
    assert sum(one.first for one in kinds) == scores.first
    assert scores.limits == scores.cases and scores.limits_right > 0.8 * scores.limits


def test_what_no_tool_may_be_tuned_on_is_as_it_was_frozen() -> None:
    """`cat truth.toml *.cu | sha256sum` in that folder."""
    folder = BUNDLED["unseen"]
    kernels = sorted(folder.glob("*.cu"), key=lambda path: path.name.encode())
    text = b"".join(path.read_bytes() for path in (folder / "truth.toml", *kernels))
    assert hashlib.sha256(text).hexdigest() == FROZEN
    assert FROZEN in (folder / "README.md").read_text()
    assert len(UNSEEN) >= 40 and all(one.half == "held_out" for one in UNSEEN)
    named = {tool for one in UNSEEN for tool in (*one.expects, *one.also, *one.also_repaired)}
    assert named <= TOOLS
    assert all(one.limit and one.limit_repaired for one in UNSEEN)


def test_every_tool_named_exists_and_what_is_planted_is_planted_in_both_halves() -> None:
    for one in ALL:
        assert set(one.expects) | set(one.also) | set(one.also_repaired) <= TOOLS, one.file
    tuning, held_out = (
        {tool for one in ALL if one.half == half for tool in one.expects} for half in HALVES
    )
    assert tuning == held_out and len(held_out) >= 24


def test_no_held_out_kernel_is_one_of_the_others_again() -> None:
    code = {one.file: re.sub(r"/\*.*?\*/|//[^\n]*|\s+", " ", one.source, flags=re.S) for one in ALL}
    known = [code[one.file] for one in ALL if one.half == "tuning"]
    for one in ALL:
        if one.half == "held_out":
            assert code[one.file] not in known, one.file


def test_there_are_six_kernels_of_each_kind_of_mistake() -> None:
    kinds = Counter(one.ailment for one in CAUSES)
    assert len(kinds) == 16 and set(kinds.values()) == {6}
    assert all(one.half == "tuning" and one.limit for one in CAUSES)
    named = {tool for one in CAUSES for tool in (*one.expects, *one.also, *one.also_repaired)}
    assert named <= TOOLS


def test_no_twin_has_what_was_planted() -> None:
    assert not [one.file for one in ALL if set(one.expects) & set(one.also_repaired)]


def test_what_is_left_in_a_twin_to_a_lesser_degree_may_be_said() -> None:
    lesser = ["coalescing", "dram_saturated"]
    scores = score([examined("coalescing", repaired=True, also_repaired=lesser)])
    assert (scores.fired_on_repaired, scores.quiet) == (0, 1)


def test_a_set_of_which_nothing_is_held_out_is_shown_whole() -> None:
    found = json_of("clinic", "--set", "causes")
    assert found["half"] == "all" and len(CAUSES) >= 96


def test_a_set_is_a_folder_with_a_truth_table(tmp_path: Path) -> None:
    refused(rooftree("clinic", "--set", "nowhere"), "is no set of kernels", "bundled: clinic,")
    (tmp_path / "truth.toml").write_text(TABLE)
    refused(rooftree("clinic", "--set", str(tmp_path)), "names x.cu, which is not in")
    (tmp_path / "x.cu").write_text("")
    refused(rooftree("clinic", "--set", str(tmp_path), "--half", "tuning"), "no kernel of")
    refused(rooftree("clinic", "--set", str(tmp_path)), "no recording in", "--record")
    (tmp_path / "truth.toml").write_text(TABLE + 'limit = ["sram"]\n')
    refused(rooftree("clinic", "--set", str(tmp_path)), "limit")
    (tmp_path / "truth.toml").write_text("exhibit = [1]\n")
    refused(rooftree("clinic", "--set", str(tmp_path)), "is no truth table")


@pytest.mark.parametrize("one", (*ALL, *UNSEEN, *CAUSES), ids=lambda one: one.name)
def test_a_kernels_plan_can_be_run_as_it_is(one: ClinicKernel) -> None:
    assert "REPAIRED" in one.source
    if not one.is_program:
        one.spec.check()
        for repaired in (False, True):
            values = one.tunables(repaired=repaired)
            one.spec.space.check(values)
            work = one.spec.work(dict(values))
            assert work is not None and work.bytes > 0


def test_scores_count_what_the_table_says() -> None:
    scores = score(
        [
            examined("coalescing", "global_latency", "tail_wave"),
            examined("dram_saturated", repaired=True, bound="mixed"),
            examined(bound="latency"),
            examined("coalescing", repaired=True, bound="compute"),
        ]
    )
    by_name = {one.tool: one for one in scores.tools}
    coalescing = by_name["coalescing"]
    assert (coalescing.planted, coalescing.found, coalescing.fired) == (2, 1, 2)
    assert (coalescing.true, coalescing.fired_on_repaired) == (1, 1)
    assert by_name["tail_wave"].precision == 0.0 and by_name["global_latency"].precision == 1.0
    assert (scores.ill, scores.first, scores.among_first, scores.quiet) == (2, 1, 1, 1)
    assert scores.macro_recall == 0.5
    assert scores.macro_precision == 0.5
    assert scores.macro_precision_of_all == pytest.approx((0.5 + 1 + 0 + 1) / 4)
    assert scores.class_accuracy == 0.5
    assert scores.confusion == {
        ("memory", "memory"): 1, ("mixed", "mixed"): 1, ("memory", "latency"): 1,
        ("memory", "compute"): 1,
    }  # fmt: skip


def test_a_planted_finding_below_the_fifth_is_found_but_not_shown() -> None:
    others = ("a", "b", "c", "d", "e")
    scores = score([examined(*others, "coalescing")])
    assert (scores.macro_recall, scores.shown) == (1.0, 0.0)
    assert (scores.first, scores.among_first) == (0, 0)
    third = score([examined("a", "b", "coalescing")])
    assert (third.first, third.among_first) == (0, 1)


def test_plugins_do_not_change_the_scores() -> None:
    said = [("coalescing", "tail_wave"), ("dram_saturated",), ("global_latency", "coalescing")]
    alone = score([examined(*tools, repaired=at == 1) for at, tools in enumerate(said)])
    beside = score(
        [
            replace(
                examined("mine", "mine_too", "a", "b", *tools, repaired=at == 1),
                plugins=frozenset({"mine", "mine_too", "a", "b", "silent"}),
            )
            for at, tools in enumerate(said)
        ]
    )
    assert replace(beside, plugins=()) == alone
    counts = {one.tool: (one.ill, one.repaired) for one in beside.plugins}
    assert counts["mine"] == (2, 1) and counts["silent"] == (0, 0)


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A tool of somebody else's, which speaks wherever there are counters."""

    def judge(case: KernelContext) -> Finding | None:
        return Finding(tool="mine", axis="memory", strength=0.9, evidence=(), advice="x")

    tool = Tool(name="mine", level="kernel", affinity=ANY, judge=judge)
    monkeypatch.setattr(registry, "available", lambda: ((*registry.builtin(), tool), ()))
    yield tool.name


def test_the_command_lists_plugins_apart(plugin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    beside, table = json_of("clinic"), completed("clinic", "--cases", columns=400).stdout
    with monkeypatch.context() as context:
        context.setattr(registry, "available", lambda: (registry.builtin(), ()))
        alone, bare = json_of("clinic"), completed("clinic").stdout
    (counted,) = beside.pop("plugins")
    assert counted["tool"] == plugin and counted["ill"] > 10 and counted["repaired"] > 10
    assert alone.pop("plugins") == [] and "plug-in" not in bare
    said = [case.pop("fired") for case in beside["cases"]]
    assert [[tool for tool in tools if tool != plugin] for tools in said] == [
        case.pop("fired") for case in alone["cases"]
    ]
    assert beside == alone
    assert re.search(rf"^{plugin} +{counted['ill']} +{counted['repaired']}$", table, re.MULTILINE)
    assert "plug-ins are in none of the figures" in table


def test_a_plugin_that_fails_is_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def judge(case: KernelContext) -> Finding | None:
        raise RuntimeError("out of ideas")

    broken = Tool(name="mine", level="kernel", affinity=ANY, judge=judge)
    note = "micro-tool 'other' (other:TOOL) cannot be used: no module"
    monkeypatch.setattr(registry, "available", lambda: ((*registry.builtin(), broken), (note,)))
    done = completed("clinic", "--json")
    assert done.stderr.count("micro-tool mine failed: RuntimeError: out of ideas") == 1
    assert done.stderr.count(note) == 1
    assert json.loads(done.stdout)["plugins"] == [{"tool": "mine", "ill": 0, "repaired": 0}]


@given(
    st.lists(
        st.tuples(st.lists(st.sampled_from(sorted(TOOLS)), unique=True, max_size=6), st.booleans())
    )
)
def test_shares_stay_shares(said: list[tuple[list[str], bool]]) -> None:
    scores = score([examined(*tools, repaired=repaired) for tools, repaired in said])
    shares = [scores.macro_recall, scores.macro_precision, scores.micro_precision, scores.shown]
    assert all(share is None or 0 <= share <= 1 for share in shares)
    assert sum(scores.confusion.values()) == len(said)
    assert sum(one.fired for one in scores.tools) == sum(len(tools) for tools, _ in said)


def test_the_recording_holds_every_twin() -> None:
    found = profiling.replayed(clinic_cases(ALL), profiling.default_recording())
    assert len(found) == 2 * len(ALL)
    for case, seen in found:
        if not case.kernel.is_program:
            assert seen.time_us is not None and seen.time_us > 0, case.name
        assert seen.profile.kernels, case.name


def test_a_kernel_that_changed_since_is_refused(tmp_path: Path) -> None:
    changed = kernel(file=ALL[0].file)
    changed.__dict__["source"] = ALL[0].source + "\n// changed"
    with pytest.raises(InputError, match="as it is now"):
        profiling.replayed([ClinicCase(changed, False)], profiling.default_recording())


def test_the_command_prints_table_and_json() -> None:
    shown = completed("clinic", "--half", "all", "--cases", columns=400)
    assert "macro recall" in shown.stdout and ALL[0].name in shown.stdout
    found = json_of("clinic")
    held_out = [one for one in ALL if one.half == "held_out"]
    assert found["patients"] == 2 * len(held_out) == len(found["cases"])
    assert rooftree("clinic", "--half", "other").exit_code == 2


def test_what_is_inspected_is_what_the_clinic_counts() -> None:
    """`rooftree inspect` on each kernel replays the very profile, and says the very same."""
    for one in profiling.examine(
        profiling.replayed(clinic_cases(ALL), profiling.default_recording())
    ):
        kernel = one.case.kernel
        values = ("REPAIRED=1",) if one.case.repaired else ()
        request = InspectRequest(file=kernel.path, values=values)
        found = as_json(inspect_file(request, on_progress=lambda _text: None))
        assert found["class"] == one.bound, kernel.file
        assert [finding["tool"] for finding in found["findings"]] == list(one.fired), kernel.file
        assert found["replayed"], kernel.file


def test_the_tools_read_right_on_the_kernels_they_were_not_tuned_on() -> None:
    """The aims of the study, held so that a change of a threshold cannot lose them unseen."""
    held_out = clinic_cases(tuple(one for one in ALL if one.half == "held_out"))
    scores = score(profiling.examine(profiling.replayed(held_out, profiling.default_recording())))
    assert scores.macro_recall is not None and scores.macro_recall >= 0.9
    assert scores.macro_precision is not None and scores.macro_precision >= 0.8
    assert scores.class_accuracy is not None and scores.class_accuracy >= 0.9
    assert scores.first >= 25 and scores.among_first >= 34


def test_predicted_gains_hold_on_the_kernels_they_were_not_set_on() -> None:
    held_out = clinic_cases(tuple(one for one in ALL if one.half == "held_out"))
    examined = profiling.examine(profiling.replayed(held_out, profiling.default_recording()))
    found = predicted_gains(examined)
    assert found is not None and found.kernels >= 25
    assert found.factor <= 1.3 and found.correlation >= 0.7
    assert found.inside >= 0.7 * found.kernels
    assert predicted_gains(examined[:2]) is None


@pytest.mark.nvrtc
@pytest.mark.parametrize(
    "one",
    [one for one in (*ALL, *CAUSES) if not one.is_program],  # the others are frozen
    ids=lambda one: one.name,
)
def test_both_twins_compile_and_differ(one: ClinicKernel) -> None:
    from profilers.compiling.lowering import lower_plan
    from profilers.profiles.inspecting import static_profile

    codes, calls = [], []
    for repaired in (False, True):
        values = one.tunables(repaired=repaired)
        try:
            profile = static_profile(one.source, values)
        except InputError as error:
            if "could not open source file" not in str(error):
                raise
            pytest.skip("the CUDA toolkit's headers are not installed")
        codes.append({item.name: item.sass.code_hash for item in profile.kernels if item.sass})
        calls.append(
            lower_plan(
                one.spec, values, shape=one.spec.shape, buffers=one.spec.buffer, place="plan"
            )
        )
    assert codes[0] and codes[1]
    assert codes[0] != codes[1] or calls[0] != calls[1]
