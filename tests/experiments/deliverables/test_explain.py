"""`rooftree explain`: what it says is in the journal, and what is not there it does not say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.deliverables import markdown
from experiments.deliverables.best import Delivery, read_delivery
from experiments.deliverables.deltas import Delta, deltas
from experiments.deliverables.explaining import explanation
from experiments.runs.tasks.files import find_task
from experiments.views.claims import standing_methods
from mcts.domain import (
    Attribution,
    Candidate,
    Energy,
    Evaluation,
    KernelProfile,
    Metric,
    Profile,
    Scalar,
    ShapeTiming,
    parse_launch_plan,
)
from mcts.domain import metrics as m
from mcts.journal.record import NodeRecord
from tests.support import deliveries
from tests.support.commands import completed, optimized


@pytest.fixture(scope="module")
def delivery(tmp_path_factory: pytest.TempPathFactory) -> Delivery:
    out = tmp_path_factory.mktemp("runs") / "run"
    optimized("row_softmax", out, "--seed", 1, "--evaluations", 40)
    return read_delivery(out)


def section(text: str, title: str) -> str:
    """The text under a heading; empty if there is no such heading."""
    found = re.search(rf"^## {re.escape(title)}\n\n(.*?)(?=\n## |\Z)", text, re.M | re.S)
    return found[1] if found else ""


def with_best(delivery: Delivery, **changes: object) -> Delivery:
    """The same run, its best node changed."""
    best = delivery.best

    def changed(node: NodeRecord) -> NodeRecord:
        return replace(node, **changes) if node.id == best.id else node  # type: ignore[arg-type]

    nodes = tuple(map(changed, delivery.result.nodes))
    confirmed = dict(delivery.result.confirmed)
    if isinstance(again := changes.get("confirmed"), Evaluation):
        confirmed[again.candidate_id] = again
    return replace(delivery, result=replace(delivery.result, nodes=nodes, confirmed=confirmed))


def test_the_headline_is_the_confirmed_measurement(delivery: Delivery) -> None:
    text, timing = explanation(delivery), delivery.timing
    head = text.partition("## ")[0]
    assert head.startswith(f"# row_softmax: {timing.speedup:.2f}x faster")
    assert f"{timing.speedup_low:.2f} to {timing.speedup_high:.2f}" in head
    assert f"{timing.median_us:,.2f} us per call instead of {timing.baseline_us:,.2f} us" in head
    assert f"{delivery.best.speedup:.2f}x while searching" in head


def test_every_node_of_the_best_path_is_listed(delivery: Delivery) -> None:
    lines = section(explanation(delivery), "The way there").splitlines()
    rows = [line for line in lines if line.startswith("|")][2:]
    path = delivery.result.path_to(delivery.best)
    assert [int(row.split("|")[1]) for row in rows] == [node.id for node in path]
    for row, node in zip(rows, path, strict=False):
        if node.speedup is not None:
            assert f"{node.speedup:.2f}x" in row


def test_every_number_of_the_hardware_table_is_in_the_profiles(delivery: Delivery) -> None:
    text = section(explanation(delivery), "What the hardware did")
    before = delivery.result.baseline.evaluation
    after = delivery.best.evaluation
    assert before and before.profile and after
    if after.profile is None or not after.profile.kernels:
        assert "The best itself was not profiled" in text
        return
    traffic = [
        sum(
            kernel.metrics[name].value
            for kernel in profile.kernels
            for name in (m.DRAM_READ_BYTES, m.DRAM_WRITE_BYTES)
        )
        for profile in (before.profile, after.profile)
    ]
    row = next(line for line in text.splitlines() if line.startswith("| DRAM traffic"))
    for value in traffic:
        assert f"{value / 1e6:,.0f} MB" in row


def test_methods_are_claimed_until_they_are_weighed(delivery: Delivery) -> None:
    title = "Which methods it owes this to"
    text = section(explanation(delivery), title)
    assert "Claimed along the way" in text and "is not known" in text
    assert "effective" not in text
    first, second = standing_methods(delivery.result.path_to(delivery.best))[:2]
    found = (
        weighed(delivery, first, gain=0.25, tunables=("VEC",)),
        weighed(delivery, second, gain=0.0, tunables=("FAST",)),
    )
    text = section(explanation(with_best(delivery, attributions=found)), title)
    assert re.search(rf"`{re.escape(first)}` \| effective \| \+25\.0 %", text)
    assert re.search(rf"`{re.escape(second)}` \| ineffective \|", text)
    assert "Claimed, and not weighed" in text
    assert f"Effective: `{first}`. Ineffective: `{second}`." in text


OWED = "Which methods it owes this to"
PLAN = """/* rooftree
where = ["VEC <= BLOCK"]
[tunables]
BLOCK = { values = [1, 4], default = 1, methods = ["latency.block_size"] }
VEC = { values = [1, 4], default = 1, methods = ["memory.vectorized_loads"] }
FAST = { values = [0, 1], default = 0, methods = ["compute.fast_math"] }
[[launch]]
kernel = "row_softmax"
grid = [1]
block = ["BLOCK"]
args = ["x", "y", "rows", "cols"]
*/
extern "C" __global__ void row_softmax(const float* x, float* y, int rows, int cols) {}
"""


def weighed(
    delivery: Delivery, method: str, *, gain: float, tunables: tuple[str, ...] = ()
) -> Attribution:
    """A method's worth with an interval of a percent to either side."""
    return Attribution(
        candidate_id=delivery.candidate.id, method=method,
        worth="effective" if gain > 0.02 else "harmful" if gain < -0.02 else "ineffective",
        gain=gain, gain_low=gain - 0.01, gain_high=gain + 0.01, tunables=tunables,
    )  # fmt: skip


def line_of(
    *steps: tuple[dict[str, Scalar], dict[str, float | None]],
) -> Delivery:
    """A run whose path to the best has these values and claims, each with its gain if weighed."""
    source = find_task("row_softmax")
    space = parse_launch_plan(PLAN).space
    begin = Candidate(source=PLAN, tunables=space.default())
    task = source.task.model_copy(update={"baseline": begin, "space": space})
    made = deliveries.delivery_of(replace(source, task=task), begin)
    nodes = [made.result.baseline]
    for number, (values, claims) in enumerate(steps, start=1):
        candidate = Candidate(
            source=PLAN, tunables={**begin.tunables, **values}, methods=tuple(claims)
        )
        one = deliveries.node(number, candidate, parent=number - 1, speedup=1.0 + number)
        found = tuple(
            weighed(made, method, gain=gain) for method, gain in claims.items() if gain is not None
        )
        nodes.append(replace(one, attributions=found))
    return replace(made, result=replace(made.result, nodes=tuple(nodes)))


def owed(delivery: Delivery) -> str:
    """The summary before the table."""
    return section(explanation(delivery), OWED).partition("\n")[0]


def test_a_method_that_was_taken_back_is_listed_apart() -> None:
    text = owed(
        line_of(
            ({"VEC": 4, "BLOCK": 4}, {"memory.vectorized_loads": 0.3, "latency.block_size": 0.2}),
            ({"VEC": 1, "BLOCK": 4, "FAST": 1}, {"compute.fast_math": 0.1}),
        )
    )
    kept, _, gone = text.partition("Taken back on the way")
    assert "Effective: `latency.block_size`, `compute.fast_math`." in kept
    assert "vectorized_loads" not in kept and "`memory.vectorized_loads` (effective)" in gone


def test_a_method_that_slows_its_variant_is_called_harmful() -> None:
    run = line_of(
        ({"FAST": 1}, {"compute.fast_math": -0.05}),
        ({"FAST": 1, "BLOCK": 4}, {"latency.block_size": 0.005}),
    )
    assert "Harmful: `compute.fast_math`." in owed(run)
    assert "Ineffective: `latency.block_size`." in owed(run)
    text = section(explanation(run), OWED)
    assert "| harmful | -5.0 %" in text and "A harmful one makes its variant slower" in text


def test_a_method_with_differing_results_is_listed_apart() -> None:
    run = line_of(
        ({"FAST": 1}, {"compute.fast_math": -0.05}),
        ({"FAST": 0}, {}),
        ({"FAST": 1}, {"compute.fast_math": 0.3}),
    )
    assert "Effective in some steps, harmful in others: `compute.fast_math`." in owed(run)


def test_methods_that_were_not_weighed_are_listed_with_the_reason() -> None:
    """BLOCK cannot be set back below VEC; FAST could be, and was not tried."""
    text = owed(
        line_of(
            (
                {"VEC": 4, "BLOCK": 4, "FAST": 1},
                {
                    "memory.vectorized_loads": 0.3,
                    "latency.block_size": None,
                    "compute.fast_math": None,
                },
            )
        )
    )
    stuck, _, left = text.partition("Claimed, and not weighed yet")
    assert "Claimed, and not weighed: `latency.block_size`; in the variants" in stuck
    assert "`compute.fast_math`; `rooftree attribute` goes on" in left


def test_gaps_are_named_and_their_sections_left_out(delivery: Delivery) -> None:
    def bare(node: NodeRecord) -> NodeRecord:
        evaluation = node.evaluation and node.evaluation.model_copy(update={"profile": None})
        return replace(node, evaluation=evaluation, confirmed=None, guidance=None)

    nodes = tuple(map(bare, delivery.result.nodes))
    poor = replace(delivery, result=replace(delivery.result, nodes=nodes, confirmed={}))
    text = explanation(poor)
    gaps = section(text, "What is not known")
    assert "not confirmed" in gaps and "Energy was not measured" in gaps
    assert "has no profile" in gaps and "replayed from a recording" in gaps
    assert "was not profiled: what is left to gain is not known" in section(text, "What is left")
    assert "Measured a second time" not in text and not section(text, "Energy")
    assert not section(text, "Shape by shape")


def test_a_floor_that_was_beaten_leaves_nothing_said_of_what_is_left(delivery: Delivery) -> None:
    guidance = delivery.best.guidance
    verdict = delivery.best.verdict
    assert guidance is not None and guidance.roofline is not None
    assert verdict is not None and verdict.timing is not None
    floor = 3 * verdict.timing.heaviest.median_us
    beaten = guidance.roofline.model_copy(update={"speed_of_light_us": floor, "beaten_by": 3.0})
    told = with_best(delivery, guidance=guidance.model_copy(update={"roofline": beaten}))
    text = section(explanation(told), "What is left")
    assert "by 3.00x" in text and "how much is left is not known" in text
    assert "nothing is left" not in text


def test_a_little_below_the_floor_is_told_with_what_may_explain_it(delivery: Delivery) -> None:
    guidance, verdict = delivery.best.guidance, delivery.best.verdict
    assert guidance is not None and guidance.roofline is not None
    assert verdict is not None and verdict.timing is not None
    floor = 1.05 * verdict.timing.heaviest.median_us
    placed = guidance.roofline.model_copy(update={"speed_of_light_us": floor, "beaten_by": None})
    told = with_best(delivery, guidance=guidance.model_copy(update={"roofline": placed}))
    text = section(explanation(told), "What is left")
    assert "It is 4.8 % below the floor" in text and "stays in the L2" in text
    assert "nothing is left" not in text
    assert "It is at the floor" not in text


def test_measured_energy_and_shapes_are_shown(delivery: Delivery) -> None:
    best = delivery.best.verdict
    assert best is not None and best.timing is not None
    whole = best.timing
    shapes = tuple(
        ShapeTiming(
            workload=name, weight=weight, median_us=whole.median_us, low_us=whole.low_us,
            high_us=whole.high_us, baseline_us=whole.baseline_us, speedup=speedup,
            speedup_low=speedup * 0.99, speedup_high=speedup * 1.005, rounds=10,
        )
        for name, weight, speedup in (("big", 0.75, 2.0), ("small", 0.25, 0.9))
    )  # fmt: skip
    energy = Energy(energy_mj=10, low_mj=9, high_mj=11, window_s=1.0, baseline_mj=40)
    timing = whole.model_copy(update={"shapes": shapes, "regressions_allowed": True})
    again = best.model_copy(update={"timing": timing, "energy": energy})
    text = explanation(with_best(delivery, confirmed=again))
    table = section(text, "Shape by shape")
    assert re.search(r"`big` \| 0\.75 \|.*2\.000x \| 1\.980 to 2\.010 \|  \|", table)
    assert re.search(r"`small` \|.*0\.900x.*\| slower \|", table)
    assert "10 mJ per call (9 to 11)" in section(text, "Energy")
    assert "Energy was not measured" not in text


def test_what_is_left_is_the_time_over_the_floor(delivery: Delivery) -> None:
    guidance, timing = delivery.best.guidance, delivery.timing
    assert guidance is not None and guidance.roofline is not None
    roofline = guidance.roofline.model_copy(update={"speed_of_light_us": timing.median_us / 2})
    lower = guidance.model_copy(update={"roofline": roofline})
    assert "at most 2.00x is left" in explanation(with_best(delivery, guidance=lower))
    roofline = roofline.model_copy(update={"speed_of_light_us": None})
    none = guidance.model_copy(update={"roofline": roofline})
    text = explanation(with_best(delivery, guidance=none))
    assert "there is no floor" in text and "is left (" not in text


def test_the_command_prints_or_writes_the_text(delivery: Delivery, tmp_path: Path) -> None:
    assert completed("explain", delivery.run_dir).stdout == explanation(delivery)
    out = tmp_path / "why.md"
    completed("explain", delivery.run_dir, "-o", out)
    assert out.read_text() == explanation(delivery)


def profile(*kernels: tuple[str, int, dict[str, float]]) -> Profile:
    return Profile(
        kernels=tuple(
            KernelProfile(
                name=name,
                launches=launches,
                metrics={key: Metric(value=value) for key, value in metrics.items()},
            )
            for name, launches, metrics in kernels
        )
    )


def named(found: Sequence[Delta], name: str) -> Delta | None:
    return next((delta for delta in found if delta.name == name), None)


def test_counters_are_summed_over_launches_and_shares_are_the_longest_kernels() -> None:
    traffic = {m.DRAM_READ_BYTES: 2e6, m.DRAM_WRITE_BYTES: 1e6, m.ACHIEVED_OCCUPANCY: 50}
    one = profile(("a", 1, {**traffic, m.DURATION: 10}))
    two = profile(
        ("a", 3, {**traffic, m.DURATION: 10}),
        ("b", 1, {**traffic, m.DURATION: 90, m.ACHIEVED_OCCUPANCY: 80}),
    )
    found = deltas(one, two)
    dram, occupancy = named(found, "DRAM traffic"), named(found, "achieved occupancy")
    assert dram is not None and (dram.before, dram.after) == (3.0, 12.0)
    assert dram.change == "×4" and dram.ends == ("3 MB", "12 MB")
    assert occupancy is not None and (occupancy.before, occupancy.after) == (50, 80)
    assert occupancy.change == "+30.0 points"
    launches = named(found, "kernel launches per call")
    assert launches is not None and launches.ends == ("1", "4")


def test_a_counter_that_one_kernel_lacks_is_not_compared() -> None:
    whole = {m.DRAM_READ_BYTES: 2e6, m.DRAM_WRITE_BYTES: 1e6}
    lacking = profile(("a", 1, whole), ("b", 1, {m.DRAM_READ_BYTES: 2e6}))
    assert named(deltas(profile(("a", 1, whole)), lacking), "DRAM traffic") is None
    assert deltas(None, lacking) == [] and deltas(lacking, None) == []


def test_small_changes_are_left_out() -> None:
    before = profile(("a", 1, {m.ACHIEVED_OCCUPANCY: 50.0, m.INSTRUCTIONS: 1000.0}))
    after = profile(("a", 1, {m.ACHIEVED_OCCUPANCY: 51.0, m.INSTRUCTIONS: 1050.0}))
    assert deltas(before, after) == []


@given(st.text(max_size=60))
def test_any_text_stays_on_one_line_and_within_its_span(text: str) -> None:
    for made in (markdown.code(text), markdown.plain(text)):
        assert "\n" not in made and "\r" not in made and "\x1b" not in made
    assert not re.search(r"(?<!\\)[<>`*\[\]|]", markdown.plain(text))
    made = markdown.code(text)
    if made:
        fence = re.match(r"`+", made)
        assert fence and made.endswith(fence[0])
        inner = made[len(fence[0]) : -len(fence[0])]
        runs = [len(run) for run in re.findall(r"`+", inner)]
        assert len(fence[0]) not in runs, "nothing inside ends the span"


def test_a_method_that_a_later_step_put_in_is_not_called_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seed 0 claims WGMMA with a variant by mma.sync, and comes to it by another step, unless it
    begins with that implementation.
    """
    monkeypatch.setattr(
        "codegen.scripted.proposer._other_implementation",
        lambda _space, _origin, pool, _ordinal, *, tried: pool,
    )
    run = tmp_path / "run"
    optimized("attention", run, "--evaluations", 40, "--seed", 0)
    completed("attribute", run)
    (line,) = (
        line
        for line in completed("explain", run).stdout.splitlines()
        if "In its machine code" in line
    )
    there = line.split("In its machine code")[1].split(". ")[0]
    assert "`compute.wgmma`" in there and "`memory.tma_loads`" in there
    assert "Implementation failed" not in line
