"""How an inspection is shown: in words, as a picture, as JSON; whatever names and sources hold."""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.inspect import facts, plot
from experiments.inspect.picture import svg
from experiments.inspect.results import Inspection, Part, as_json
from experiments.inspect.roofs import Chart, Point, chart_of, why_no_chart
from experiments.inspect.text_report import show
from experiments.text.words import clean
from mcts.domain import (
    AxisGap,
    Ceilings,
    Evidence,
    Finding,
    Guidance,
    Hardware,
    KernelProfile,
    Metric,
    ModelModule,
    ModuleTimes,
    Profile,
    Roofline,
    SassFacts,
    SassLoop,
    TimelineFacts,
    Work,
)
from mcts.domain import metrics as m
from mcts.errors import InputError
from mcts.text import cut

NASTY = "\x1b[31m[red]\u202eevil\x9b2J</text><script>\x00"
CEILINGS = Ceilings(
    copy_gb_per_s=4000, l2_gb_per_s=8000, shared_gb_per_s=30000,
    fp32_tflop_per_s=60, bf16_tflop_per_s=700,
)  # fmt: skip
ROOFLINE = Roofline(
    bound="memory", level="L2", confidence=0.85, gap=AxisGap(compute=0.9, memory=0.1, latency=0.4),
    near_peak=False, method_budget={"memory": 2, "latency": 1}, intensity_flop_per_byte=0.5,
    achieved_tflop_per_s=1.5, reason="L2 is 95 % busy.",
)  # fmt: skip
SASS = SassFacts(
    instructions=40, registers=24, shared_bytes=16384, local_loads=2, local_stores=1,
    global_loads={"32": 4, "128": 2}, fma_ops=8, barriers=2, lines={"local_loads": (12, 13)},
    mix={"fp32": 8, "memory": 6}, loops=(SassLoop(depth=1, instructions=20, line=9, unrolled=4),),
)  # fmt: skip
FINDING = Finding(
    tool="coalescing", axis="memory", lines=(2,), strength=0.9, expected_gain=3.0,
    evidence=(Evidence(metric=m.L1, value=95, threshold=60, unit="%"),),
    advice="Let neighbouring threads read neighbouring addresses.",
    methods=("memory.coalesced_access",),
)  # fmt: skip


def part(name: str = "row_sum", **changes: object) -> Part:
    metrics = {m.SM: Metric(value=30, unit="%"), m.DRAM: Metric(value=70.5, unit="%")}
    kernel = KernelProfile(name=name, metrics=metrics, sass=SASS)
    profile = Profile(
        kernels=(kernel,), hardware=Hardware(name="Paper GPU", ceilings=CEILINGS),
        roofline=ROOFLINE, missing={"nsys": "not installed", "other": "not installed"},
    )  # fmt: skip
    guidance = Guidance(roofline=ROOFLINE, findings=(FINDING,), notes=("one note",))
    made = Part(profile=profile, guidance=guidance, time_us=123.4)
    return replace(made, **changes)  # type: ignore[arg-type]


def inspection(*parts: Part, source: str | None = "one\n    x[i * 33] = 1;\n") -> Inspection:
    return Inspection(
        file=Path("some/kernel.cu"), origin="replayed", parts=parts or (part(),), source=source,
        recorded_on="2026-11-21",
    )  # fmt: skip


def printed(capsys: pytest.CaptureFixture[str], what: Inspection, *, limit: int = 5) -> str:
    show(what, limit=limit)
    return capsys.readouterr().out


def test_an_estimate_that_was_beaten_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    beaten = ROOFLINE.model_copy(update={"speed_of_light_us": 246.8, "beaten_by": 2.0})
    assert part().guidance is not None
    text = printed(capsys, inspection(part(guidance=Guidance(roofline=beaten))))
    assert "the least work's estimate is beaten, by 2.00x" in text and "near its peak" not in text


def test_everything_that_is_known_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, inspection())
    for words in (
        "row_sum on Paper GPU, replayed: recorded 2026-11-21, 123 us per call",
        "some/kernel.cu",
        "memory-bound at L2, confidence 85%",
        "L2 is 95 % busy.",
        "compute 90%, memory 10%, latency 40%",
        "2 things about memory, 1 thing about latency",
        "1. coalescing",
        "about 3.00x",
        "line 2: x[i * 33] = 1;",
        "methods: memory.coalesced_access",
        "24 a thread",
        "2 local loads, 1 local stores (line 12, 13)",
        "4 x 32-bit, 2 x 128-bit",
        "line 9, 20 instructions, unrolled 4x",
        "note: one note",
        "nsys, other",
        "not installed",
        "row_sum: 1.5 TFLOP/s at 0.5 FLOP/byte",
    ):
        assert words in text


def test_hot_loops_are_shown_first_and_marked() -> None:
    inner = SassLoop(depth=2, instructions=60, mix={"tensor": 8, "control": 52})
    others = [SassLoop(depth=2, instructions=size, mix={"integer": size}) for size in (90, 95, 99)]
    sass = SassFacts(instructions=900, mix={"tensor": 8}, loops=(*others, inner), wgmma_ops=8)
    shown = dict(facts.machine_code(sass))
    assert shown["loops"] == (
        "depth 2, 60 instructions, not unrolled, hot; depth 2, 99 instructions, not unrolled; "
        "depth 2, 95 instructions, not unrolled"
    )
    assert shown["hot loop"] == "control 87%, tensor 13%"
    two = sass.model_copy(update={"loops": (inner, inner)})
    assert "hot loops" in dict(facts.machine_code(two))


def test_a_pipe_gets_no_colours_and_no_blanks_at_line_ends(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = printed(capsys, inspection())
    assert "\x1b" not in text
    assert all(line == line.rstrip() for line in text.splitlines())


@pytest.mark.parametrize("columns", [20, 50, 63, 80, 200])
def test_no_line_is_wider_than_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    text = printed(capsys, inspection(part("a_name_of_a_kernel_that_is_far_too_long_" * 4)))
    assert max(map(len, text.splitlines())) <= max(50, columns)


def test_control_characters_and_markup_are_printed_as_text(
    capsys: pytest.CaptureFixture[str],
) -> None:
    finding = FINDING.model_copy(update={"advice": NASTY, "tool": NASTY, "methods": (NASTY,)})
    hostile = part(NASTY, guidance=Guidance(findings=(finding,), notes=(NASTY,)))
    text = printed(capsys, inspection(hostile, source=f"one\n{NASTY}\n"))
    assert not any(char in text for char in "\x1b\x9b\x00\u202e")
    assert text.count("[red]") >= 5


def test_findings_beyond_the_limit_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    many = part(guidance=Guidance(findings=(FINDING,) * 4))
    text = printed(capsys, inspection(many), limit=1)
    assert "3 weaker findings left out" in text
    assert "2. coalescing" not in text


def test_without_a_place_under_the_roofline_the_units_are_drawn(
    capsys: pytest.CaptureFixture[str],
) -> None:
    bare = ROOFLINE.model_copy(update={"intensity_flop_per_byte": None})
    text = printed(capsys, inspection(part(guidance=Guidance(roofline=bare))))
    assert "DRAM" in text
    assert "70.5 %" in text
    assert "TFLOP/s over" not in text


def test_several_parts_have_a_heading_each(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, inspection(part("first"), part("second", time_us=None)))
    assert "2 kernels of some/kernel.cu" in text
    assert "first, 123 us" in text
    assert "\nsecond\n" in text


def test_a_timeline_is_told_in_a_few_facts() -> None:
    told = dict(
        facts.timeline(
            TimelineFacts(
                source="nsys", span_us=2000, busy_us=500, gap_us=1000, kernels=40, kernel_names=2,
                median_kernel_us=4.25, short_kernels=38, launches=40, launch_api_us=200,
                copies_to_device=3, copies_to_host=1, copied_bytes=2**21, copy_us=90,
                small_copies=2, pageable_copies=1, sync_calls=5, sync_us=700, streams=2,
                allocations=4, allocation_us=30,
            )
        )
    )  # fmt: skip
    assert told["window"] == "2 ms, seen by nsys"
    assert told["device"] == "kernels run 25%, idle 50%"
    assert told["kernels"].startswith("40 runs of 2 kernels, median 4.25 us, 38 below 10 us")
    assert told["copies"] == ("3 to the device, 1 to the host, 2 MiB in 90 us, 2 small, 1 pageable")
    assert set(told) == {
        "window", "device", "kernels", "launching", "copies", "waiting", "allocating", "streams"
    }  # fmt: skip


@given(st.text())
def test_clean_text_stands_on_one_line_and_moves_no_cursor(text: str) -> None:
    assert clean(text).isprintable()


@given(st.text(), st.integers(min_value=4, max_value=40))
def test_cut_text_is_no_longer_than_asked(text: str, most: int) -> None:
    assert len(cut(text, most)) <= most


RATES = st.floats(min_value=1e-3, max_value=1e5)


@given(
    points=st.lists(st.tuples(RATES, RATES), min_size=1, max_size=4),
    copy=RATES,
    l2=st.none() | RATES,
    fp32=st.none() | RATES,
)
def test_a_chart_holds_its_points_and_fits_its_frame(
    points: list[tuple[float, float]], copy: float, l2: float | None, fp32: float | None
) -> None:
    ceilings = Ceilings(copy_gb_per_s=copy, l2_gb_per_s=l2, fp32_tflop_per_s=fp32)
    parts = [_placed(intensity, rate, ceilings) for intensity, rate in points]
    chart = chart_of(parts)
    assert chart is not None
    for point in chart.points:
        assert chart.x.low < math.log10(point.intensity) < chart.x.high
        assert chart.y.low < math.log10(point.rate) < chart.y.high
    lines = plot.roofline(chart)
    assert max(map(len, lines[: plot.HEIGHT])) <= plot.WIDTH
    assert any("X" in line for line in lines[: plot.HEIGHT]) or len(chart.points) > 1
    _check_svg(svg(inspection(*parts)))


def _placed(intensity: float, rate: float, ceilings: Ceilings) -> Part:
    place = ROOFLINE.model_copy(
        update={"intensity_flop_per_byte": intensity, "achieved_tflop_per_s": rate}
    )
    made = part(guidance=Guidance(roofline=place), work=Work(bytes=1, flops=1))
    device = Hardware(name="Paper GPU", ceilings=ceilings)
    return replace(made, profile=made.profile.model_copy(update={"hardware": device}))


def _check_svg(text: str) -> ElementTree.Element:
    """Well-formed, with words for those who do not see it, and nothing drawn outside."""
    root = ElementTree.fromstring(text)
    names = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert {"title", "desc", "style"} <= names
    assert "script" not in names
    _, _, wide, high = map(float, root.attrib["viewBox"].split())
    for element in root.iter():
        for key in ("x1", "x2", "cx"):
            assert -1 <= float(element.attrib.get(key, 0)) <= wide + 1
        for key in ("y1", "y2", "cy"):
            assert -1 <= float(element.attrib.get(key, 0)) <= high + 1
    return root


def test_the_picture_names_roofs_and_kernel() -> None:
    text = svg(inspection())
    _check_svg(text)
    for words in ("DRAM 4,000 GB/s", "L2 8,000 GB/s", "shared 30,000 GB/s", "fp32 60 TFLOP/s",
                  "bf16 700 TFLOP/s", "row_sum, 1.5 TFLOP/s", "prefers-color-scheme"):  # fmt: skip
        assert words in text


def test_a_picture_holds_a_hostile_name_as_text() -> None:
    root = _check_svg(svg(inspection(part(NASTY))))
    assert "</text><script>" in "".join(root.itertext())


def test_without_a_roofline_the_picture_shows_the_units() -> None:
    unplaced = part(guidance=Guidance())
    text = svg(inspection(unplaced))
    assert "70.5 %" in text
    assert "no roofline" in text
    empty = replace(unplaced, profile=Profile(kernels=(KernelProfile(name="k"),)))
    with pytest.raises(InputError, match="nothing to draw"):
        svg(inspection(empty))


def test_counted_operations_place_a_kernel_whose_work_nobody_declared() -> None:
    counters = {m.FFMA: 1e9, m.FADD: 0, m.FMUL: 0, m.DRAM_READ_BYTES: 3e8,
                m.DRAM_WRITE_BYTES: 1e8, m.DURATION: 1e6}  # fmt: skip
    metrics = {name: Metric(value=value) for name, value in counters.items()}
    kernel = KernelProfile(name="k", metrics=metrics)
    counted = part(guidance=Guidance())
    profile = counted.profile.model_copy(update={"kernels": (kernel,)})
    chart = chart_of([replace(counted, profile=profile)])
    assert chart is not None
    assert chart.points == (Point("k (as counted)", 5.0, 2.0),)
    busy = kernel.model_copy(update={"metrics": {**metrics, m.TENSOR_PIPE: Metric(value=20)}})
    profile = counted.profile.model_copy(update={"kernels": (busy,)})
    assert chart_of([replace(counted, profile=profile)]) is None


def test_a_missing_chart_has_a_reason() -> None:
    assert "ceilings" in why_no_chart([replace(part(), profile=Profile())])
    assert "operations" in why_no_chart([part()])


def test_a_point_is_held_against_its_own_arithmetic() -> None:
    chart = chart_of([_placed(1000.0, 30.0, CEILINGS)])
    assert isinstance(chart, Chart)
    assert chart.limit_of(chart.points[0]) == 60
    tensor = replace(_placed(1000.0, 30.0, CEILINGS), work=Work(bytes=1, flops=1, math="bf16"))
    chart = chart_of([tensor])
    assert isinstance(chart, Chart)
    assert chart.limit_of(chart.points[0]) == 700


def test_json_has_every_field_even_if_nothing_is_known() -> None:
    full = as_json(inspection())
    empty = as_json(
        Inspection(
            file=Path("k.cu"),
            origin="static",
            parts=(Part(profile=Profile(), guidance=Guidance()),),
        )
    )
    assert set(full) == set(empty)
    json.dumps([full, empty], allow_nan=False)
    assert full["class"] == "memory"
    assert full["replayed"] is True
    assert "2026-11-21" in full["hardware"]
    assert full["gaps"] == {"compute": 0.9, "memory": 0.1, "latency": 0.4}
    assert full["findings"][0]["kernel"] == "row_sum"
    assert full["findings"][0]["evidence"][0]["value"] == 95
    assert full["kernels"][0]["sass"]["registers"] == 24
    assert empty["class"] == "unknown"
    assert empty["kernels"] == []


def several(count: int, name: str = "kernel") -> Part:
    """A part of `count` kernels, each a microsecond longer than the next."""
    kernels = tuple(
        KernelProfile(
            name=f"{name}{number}", launches=2,
            metrics={m.DURATION: Metric(value=1e3 * (count - number), unit="ns")},
        )
        for number in range(count)
    )  # fmt: skip
    return replace(part(), profile=Profile(kernels=kernels))


def test_kernels_stand_by_their_time_with_share_and_runs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show(inspection(several(4)), limit=3)
    lines = capsys.readouterr().out.splitlines()
    table = lines[lines.index("kernels") + 1 :][:4]
    assert [line.split() for line in table] == [
        ["40%", "2", "runs", "of", "4", "us", "kernel0"],
        ["30%", "2", "runs", "of", "3", "us", "kernel1"],
        ["20%", "2", "runs", "of", "2", "us", "kernel2"],
        ["10%", "2", "runs", "of", "1", "us", "kernel3"],
    ]


def test_of_many_kernels_the_longest_are_shown_and_the_others_summed_up(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show(inspection(several(20)), limit=3)
    assert "and 8 others, 17%" in capsys.readouterr().out


@pytest.mark.parametrize("columns", ["50", "80", "200"])
def test_long_names_leave_room_for_share_and_time(
    columns: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    show(inspection(several(3, name="at::native::" * 20)), limit=3)
    lines = capsys.readouterr().out.splitlines()
    row = lines[lines.index("kernels") + 1]
    assert row.startswith("   50%  2 runs of 3 us") and len(row) <= int(columns)


def test_the_modules_of_a_model_are_shown_with_their_share(
    capsys: pytest.CaptureFixture[str],
) -> None:
    modules = (
        ModelModule(path="body", kind="Linear", inputs="8x16", output="8x4", calls=3, us=60.0),
        ModelModule(path=NASTY, kind="ReLU", us=20.0),
    )
    profile = several(2).profile.model_copy(
        update={"modules": ModuleTimes(us=100, modules=modules)}
    )
    one = inspection(replace(several(2), profile=profile))
    show(one, limit=3)
    text = capsys.readouterr().out
    assert "modules, of 100 us a call" in text
    assert "60%, 60 us in 3 runs, Linear: 8x16 -> 8x4" in text
    assert ["all", "else", "20%"] in [line.split() for line in text.splitlines()]
    assert "\x1b" not in text and "\u202e" not in text
    assert as_json(one)["modules"]["us"] == 100
