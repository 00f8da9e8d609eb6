"""The oracle as the judge uses it: in this process, and once as the process that it is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from profilers.children.processes import Child  # noqa: E402
from profilers.children.protocol import RequestRefused  # noqa: E402
from profilers.kernelbench.oracle import session  # noqa: E402
from profilers.kernelbench.oracle.baseline import Baseline  # noqa: E402
from profilers.kernelbench.shared.shared_memory import BufferWriter, SharedBuffer  # noqa: E402
from profilers.kernelbench.shared.values import TensorSpec, decode, encode  # noqa: E402
from tests.support.kernelbench_problems import (  # noqa: E402
    function,
    linear_problem,
    write,
)
from tests.support.oracle_judge import SIZE, TOLERANCE, Judge  # noqa: E402


@pytest.fixture
def linear(tmp_path: Path) -> Path:
    return linear_problem(tmp_path)


@pytest.fixture
def judge(linear: Path) -> Judge:
    return Judge(linear)


def answer(weights: dict[str, Any], inputs: list[Any]) -> Any:
    """What an honest candidate returns, from what a worker gets."""
    product = inputs[0] @ weights["linear.weight"].T
    return torch.relu(product + weights["linear.bias"])


def test_the_start_tells_sizes_and_names(judge: Judge) -> None:
    facts = judge.facts
    assert facts["parameters"] == ["linear.weight", "linear.bias"]
    assert facts["init"] == {"list": [64]}
    assert facts["inputs"] == ["[0] float32[24, 64]"]
    assert facts["outputs"] == ["output float32[24, 64]"]
    assert facts["input_bytes"] == facts["output_bytes"] == 24 * 64 * 4
    assert facts["weight_bytes"] == 64 * 64 * 4 + 256


def test_the_least_work_is_what_moves_and_what_products_take(judge: Judge) -> None:
    moved = 2 * 24 * 64 * 4 + 64 * 64 * 4 + 256
    assert judge.ask("work", seed=5) == {
        "bytes": moved, "written": 24 * 64 * 4, "flops": 2 * 24 * 64 * 64, "math": "fp32"
    }  # fmt: skip


def test_an_honest_answer_is_right_and_exact(judge: Judge) -> None:
    weights = judge.weights()
    assert float(weights["linear.bias"].std()) > 0.01, "a zero bias could be left out"
    for name, variation in (("a", "given"), ("b", "scaled"), ("c", "signed"), ("d", "batch")):
        inputs = judge.draw(name, variation=variation)
        expected = judge.ask("expect", id=name)
        assert expected["oracle"] == "float64"
        comparison = judge.compare(answer(weights, inputs), name)
        assert comparison["structure"] is None and comparison["problems"] == []
        (found,) = comparison["outputs"]
        assert found["mismatches"] == 0
        assert found["error_ratio"] < 8


def test_a_skipped_bias_is_wrong(judge: Judge) -> None:
    weights = judge.weights()
    (x,) = judge.draw()
    judge.ask("expect", id="a")
    found = judge.compared(torch.relu(x @ weights["linear.weight"].T))
    assert found["mismatches"] > 100
    assert found["first"] is not None


def test_draws_and_weights_follow_the_seeds(linear: Path) -> None:
    one, two = Judge(linear, seed=3), Judge(linear, seed=3)
    assert torch.equal(one.draw(seed=9)[0], two.draw(seed=9)[0])
    for name, tensor in one.weights(5).items():
        assert torch.equal(tensor, two.weights(5 if name == "linear.weight" else None)[name])


def test_new_weights_make_old_answers_wrong_and_known(judge: Judge) -> None:
    old = judge.weights()
    inputs = judge.draw()
    new = judge.weights(seed=11)
    assert not torch.equal(old["linear.weight"], new["linear.weight"])
    judge.ask("expect", id="a")
    assert judge.compared(answer(new, inputs))["mismatches"] == 0
    comparison = judge.compare(answer(old, inputs))
    assert comparison["outputs"][0]["mismatches"] > 0
    assert comparison["problems"][0]["cheat"] == "cached_weights"


STALE = {"tolerance": TOLERANCE, "error_ratio": 128.0}


@pytest.mark.parametrize(("strength", "differs"), [(0.5, True), (1e-12, False)])
def test_whether_a_changed_row_shows_in_the_outputs(
    judge: Judge, strength: float, differs: bool
) -> None:
    judge.draw()
    for seed in (4, 5):  # a row of the matrix, an element of the bias
        old = judge.weights()
        new = judge.weights(seed, part=True, strength=strength)
        changed = [name for name in old if not torch.equal(old[name], new[name])]
        assert len(changed) == 1 or not differs
        assert judge.ask("expect", id="a", stale=STALE)["stale_differs"] is differs
        assert torch.equal(judge.weights()["linear.weight"], new["linear.weight"])


def test_whether_earlier_outputs_differ_is_not_told_unasked_or_without_them(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge.draw()
    assert judge.ask("expect", id="a", stale=STALE)["stale_differs"] is None
    judge.weights(4, part=True, strength=0.5)
    assert judge.ask("expect", id="a")["stale_differs"] is None
    monkeypatch.setattr(session, "_EARLIER_BYTES", 64)
    judge.weights(4, part=True, strength=0.5)
    assert judge.ask("expect", id="a", stale=STALE)["stale_differs"] is None


def test_weights_that_are_too_large_to_keep_leave_old_answers_wrong(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "_EARLIER_BYTES", 64)
    old = judge.weights()
    inputs = judge.draw()
    judge.weights(seed=11)
    judge.ask("expect", id="a")
    comparison = judge.compare(answer(old, inputs))
    assert comparison["outputs"][0]["mismatches"] > 0 and not comparison["problems"]


def test_without_memory_for_earlier_weights_there_is_a_verdict_all_the_same(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise torch.OutOfMemoryError("none is left")

    monkeypatch.setattr(session.Weights, "copied", full)
    old = judge.weights()
    inputs = judge.draw()
    judge.weights(seed=11)
    judge.ask("expect", id="a")
    comparison = judge.compare(answer(old, inputs))
    assert comparison["outputs"][0]["mismatches"] > 0 and not comparison["problems"]


def test_weights_are_the_new_ones_again_once_old_answers_were_looked_for(judge: Judge) -> None:
    judge.weights()
    inputs = judge.draw()
    new = judge.weights(seed=11)
    judge.ask("expect", id="a")
    wrong = judge.compare(answer(new, inputs) + 1)
    assert wrong["outputs"][0]["mismatches"] > 0 and not wrong["problems"]
    assert all(torch.equal(tensor, new[name]) for name, tensor in judge.weights().items())
    assert judge.compared(answer(new, inputs))["mismatches"] == 0


def test_the_answer_to_another_call_is_recognised(judge: Judge) -> None:
    weights = judge.weights()
    first = judge.draw("a", seed=1)
    judge.draw("b", seed=2)
    for name in ("a", "b"):
        judge.ask("expect", id=name)
    comparison = judge.compare(answer(weights, first), "b")
    assert comparison["problems"][0]["cheat"] == "content_cache"


def test_a_number_that_would_broadcast_is_no_answer(judge: Judge) -> None:
    judge.draw()
    judge.ask("expect", id="a")
    comparison = judge.compare(torch.tensor(0.5))
    assert "float32[]" in comparison["structure"]
    assert comparison["problems"][0]["cheat"] == "tolerance_abuse"
    assert comparison["outputs"] == []


@pytest.mark.parametrize(
    "claim",
    [
        {"tensor": {"dtype": "float32", "shape": [24, 64], "strides": [64, 1], "offset": 1 << 40}},
        {"tensor": {"dtype": "float32", "shape": [24, 64], "strides": [64, 1], "offset": 3}},
        {"tensor": "x"},
        {"pickle": "x"},
        [1, 2],
    ],
)
def test_a_broken_claim_is_no_answer(judge: Judge, claim: Any) -> None:
    judge.draw()
    comparison = judge.ask("compare", id="a", outputs=claim, tolerance=TOLERANCE, k=64)
    assert comparison["structure"]
    assert comparison["outputs"] == []


def test_the_oracle_keeps_its_own_copy_of_what_it_draws(judge: Judge) -> None:
    weights = judge.weights()
    inputs = judge.draw()
    judge.inputs.tensor(TensorSpec("uint8", (SIZE,), (1,), 0)).zero_()
    judge.ask("expect", id="a")
    assert judge.compared(answer(weights, inputs))["mismatches"] == 0


def test_the_baseline_is_timed_and_its_outputs_compared(judge: Judge) -> None:
    weights = judge.weights()
    ids = ["a", "b", "c"]
    inputs = [judge.draw(name, seed=seed) for seed, name in enumerate(ids)]
    judge.ask("prepare", ids=ids)
    times = judge.ask("run", flush=True)["events_us"]
    assert len(times) == 3 and all(us > 0 for us in times)
    writer = BufferWriter(judge.outputs)
    outputs = [answer(weights, one) for one in inputs]
    outputs[2][5, 5] += 1
    calls = judge.ask(
        "compare_timed", ids=ids, outputs=[encode(one, writer) for one in outputs],
        tolerance=TOLERANCE, k=64,
    )["calls"]  # fmt: skip
    assert [call["outputs"][0]["mismatches"] for call in calls] == [0, 0, 1]
    assert [call.get("exact", False) for call in calls] == [False, False, True]
    assert judge.ask("burn", calls=7) == {"calls": 7}
    few = judge.ask("compare_timed", ids=ids, outputs=[], tolerance=TOLERANCE, k=64)
    assert few["calls"][0]["problems"][0]["cheat"] == "forged_result"
    assert few["calls"][0]["structure"] == "outputs of 0 calls for 3 that were asked for"


def test_how_far_the_model_itself_is_off_is_found_once_for_the_same_weights(judge: Judge) -> None:
    """Where it errs by more than the tolerance, float64 is not asked again for each timed call."""
    tight = [0.0, 1e-12]

    def by_float64(off: float) -> list[bool]:
        weights = judge.weights()
        ids = ["a", "b"]
        inputs = [judge.draw(name, seed=seed) for seed, name in enumerate(ids)]
        judge.ask("prepare", ids=ids)
        judge.ask("run", flush=False)
        writer = BufferWriter(judge.outputs)
        outputs = [encode(answer(weights, one) + off, writer) for one in inputs]
        calls = judge.ask("compare_timed", ids=ids, outputs=outputs, tolerance=tight, k=64)["calls"]
        wrong = [call["outputs"][0]["mismatches"] > 0 for call in calls]
        assert wrong == [off > 1e-3, off > 1e-3]
        return [call.get("exact", False) for call in calls]

    assert by_float64(1e-7) == [True, False]
    assert by_float64(1e-7) == [False, False]
    assert by_float64(1.0) == [True, True], "what is wrong is compared in full all the same"
    judge.weights(seed=3)
    assert by_float64(1e-7) == [True, False], "of other weights it is not known"


def test_zeros_are_wrong_and_no_cache_beside_a_draw_made_ahead(tmp_path: Path) -> None:
    judge = Judge(function(tmp_path, "x * 2", inputs="[torch.rand(64, 8)]"))
    drawn = judge.ask("draw", id="tiny", seed=7, variation="beyond:denormal", at=None)
    assert drawn["available"] is True
    assert judge.ask("expect", id="tiny", conditioned=True)["scale_rms"][0] < 1e-3
    (x,) = judge.draw()
    judge.ask("expect", id="a")
    found = judge.compare(x * 0)
    assert found["outputs"][0]["mismatches"] > 0 and found["problems"] == []
    judge.ask("place", ids=["tiny"], at=[0])
    assert judge.compare(x * 0)["problems"][0]["cheat"] == "content_cache", "it was seen"


def test_a_forgotten_draw_is_gone(judge: Judge) -> None:
    judge.draw()
    before = judge.ask("expect", id="a")["held_bytes"]
    assert judge.ask("forget", ids=["a", "never drawn"])["held_bytes"] < before
    with pytest.raises(RequestRefused, match="no draw 'a'"):
        judge.ask("expect", id="a")


def test_several_outputs_and_numbers_are_compared_in_their_places(tmp_path: Path) -> None:
    path = function(
        tmp_path, "(x * 2, {'index': x.argmax(1), 'count': 3})", inputs="[torch.rand(6, 50)]"
    )
    judge = Judge(path)
    (x,) = judge.draw()
    judge.ask("expect", id="a")
    right = (x * 2, {"index": x.argmax(1), "count": 3})
    assert [one["mismatches"] for one in judge.compare(right)["outputs"]] == [0, 0]
    wrong = (x * 2, {"index": x.argmin(1), "count": 3})
    found = judge.compare(wrong)["outputs"]
    assert found[1]["path"] == "output[1]['index']" and found[1]["mismatches"] > 0
    off = judge.compare((x * 2, {"index": x.argmax(1), "count": 4}))
    assert "output[1]['count'] is 4" in off["structure"]


def test_a_variation_that_does_not_apply_is_told(tmp_path: Path) -> None:
    judge = Judge(function(tmp_path, "x.log()", inputs="[torch.rand(200) + 0.5]"))
    reply = judge.ask("draw", id="a", seed=1, variation="signed", at=0)
    assert reply["available"] == "no input is uniform on [0, 1)"


def test_inputs_that_do_not_fit_are_refused(judge: Judge) -> None:
    with pytest.raises(RequestRefused) as refused:
        judge.ask("draw", id="a", seed=1, variation="given", at=SIZE - 256)
    assert refused.value.kind == "memory"


@pytest.mark.parametrize(
    ("model", "inputs", "said"),
    [
        ("def forward(self, x):\n    return x.no_such_thing", "[torch.rand(3)]", "no_such_thing"),
        ("def forward(self, x):\n    return {1, 2}", "[torch.rand(3)]", "is a builtins.set"),
        ("def forward(self):\n    return 1", "[torch.rand(3)]", "positional argument"),
    ],
)
def test_a_faulty_problem_is_the_tasks_fault(
    tmp_path: Path, model: str, inputs: str, said: str
) -> None:
    with pytest.raises(RequestRefused, match=said) as refused:
        Judge(write(tmp_path, model, inputs=inputs))
    assert refused.value.kind == "task"


def test_the_host_has_no_copy_rate(judge: Judge) -> None:
    assert judge.ask("ceilings") == {"copy_gb_per_s": None}


def test_a_model_that_does_not_compile_stays_eager(tmp_path: Path) -> None:
    model = """
def forward(self, x):
    if torch.compiler.is_compiling():
        raise RuntimeError("not to be compiled")
    return x * 2
"""
    judge = Judge(write(tmp_path, model, inputs="[torch.rand(8)]"))
    reply = judge.ask("compiled", wanted=True)
    assert reply["available"] is False and reply["reason"]
    judge.draw()
    judge.ask("prepare", ids=["a"])
    assert len(judge.ask("run", flush=False)["events_us"]) == 1
    assert judge.ask("compiled", wanted=False)["available"] is True


def test_outputs_are_compared_with_those_of_the_model_as_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = """
def forward(self, x):
    return x * 2
"""
    judge = Judge(write(tmp_path, model, inputs="[torch.rand(64)]"))
    monkeypatch.setattr(Baseline, "_compiled", lambda _self, model, _inputs: lambda x: x + 1.0)
    assert judge.ask("compiled", wanted=True)["available"] is True
    (x,) = judge.draw()
    by_float64 = {}
    for eager in (False, True):
        judge.ask("prepare", ids=["a"])
        judge.ask("run", flush=False, eager=eager)
        coded = encode(x * 2, BufferWriter(judge.outputs))
        found = judge.ask("compare_timed", ids=["a"], outputs=[coded], tolerance=TOLERANCE, k=64)
        by_float64[eager] = found["calls"][0].get("exact", False)
        assert found["calls"][0]["outputs"][0]["mismatches"] == 0
    assert by_float64 == {False: True, True: False}


def test_beyond_the_drawn_range_the_last_bit_of_the_inputs_counts(tmp_path: Path) -> None:
    model = """
def forward(self, x):
    return torch.softmax(x, dim=1)
"""
    judge = Judge(write(tmp_path, model, inputs="[torch.rand(16, 64)]"))
    drawn = judge.ask("draw", id="a", seed=1, variation="beyond:large", at=0)
    assert drawn["available"] is True
    plain = judge.ask("expect", id="a")["honest_rms"][0]
    conditioned = judge.ask("expect", id="a", conditioned=True)["honest_rms"][0]
    assert conditioned > 4 * plain
    assert judge.ask("draw", id="b", seed=1, variation="beyond:unheard", at=0)["available"] != 1


def test_only_what_is_no_label_or_distribution_is_scaled(tmp_path: Path) -> None:
    model = """
def forward(self, x, labels):
    return (x * labels).sum(dim=1)
"""
    inputs = "[torch.randn(16, 64), torch.rand(16, 64).softmax(dim=1)]"
    judge = Judge(write(tmp_path, model, inputs=inputs))
    coded = judge.ask("draw", id="a", seed=1, variation="scaled", at=0)["inputs"]
    x, labels = decode(coded, judge.inputs.fresh)
    assert abs(float(x.std()) - 1) > 0.5
    assert torch.allclose(labels.sum(dim=1), torch.ones(16))


def test_tensors_among_the_constructors_arguments_travel_too(tmp_path: Path) -> None:
    model = """
def __init__(self, table):
    super().__init__()
    self.table = nn.Parameter(table)

def forward(self, x):
    return x * self.table
"""
    path = write(tmp_path, model, inputs="[torch.rand(4, 9)]", init="[torch.rand(9)]")
    judge = Judge(path)
    (table,) = decode(judge.facts["init"], judge.inputs.fresh)
    assert torch.equal(table, judge.weights()["table"])


def test_the_oracle_answers_as_a_process(linear: Path, tmp_path: Path) -> None:
    child = Child.module("profilers.kernelbench.oracle.process", cwd=tmp_path, descriptors=True)

    def ask(op: str, **fields: Any) -> dict[str, Any]:
        reply = child.request({"op": op, **fields}, timeout_s=120)
        assert reply["ok"], reply
        return reply

    try:
        facts = ask("start", device="cpu", problem=str(linear), policy={}, seed=2**62 + 1)
        ask("buffers", inputs=SIZE, outputs=SIZE, in_turns=False)
        fds = child.receive_descriptors(2, timeout_s=10)
        inputs, outputs = (SharedBuffer.attach("host", fd, SIZE) for fd in fds)
        specs = ask("weights", seed=None)["weights"]
        weights = {n: inputs.fresh(TensorSpec.from_json(spec)) for n, spec in specs.items()}
        drawn = ask("draw", id="a", seed=4, variation="given", at=facts["weight_bytes"])
        values = decode(drawn["inputs"], inputs.fresh)
        ask("expect", id="a", weights="current")
        coded = encode(answer(weights, values), BufferWriter(outputs))
        compared = ask("compare", id="a", outputs=coded, tolerance=TOLERANCE, k=64)
        assert compared["outputs"][0]["mismatches"] == 0
        lost = child.request({"op": "expect", "id": "b"}, timeout_s=30)
        assert not lost["ok"] and lost["kind"] == "internal"
        os.kill(child.pid, 0)
    finally:
        child.kill()


@pytest.mark.parametrize(("precision", "centred"), [("tf32", True), ("task", False)])
def test_inputs_are_centred_where_tf32_is_judged(
    linear: Path, precision: str, centred: bool
) -> None:
    judge = Judge(linear, precision=precision)
    judge.ask("draw", id="a", seed=1, variation="signed", at=0)
    assert judge.ask("expect", id="a")["centred"] is centred
    judge.ask("draw", id="b", seed=1, variation="given", at=0)
    assert judge.ask("expect", id="b")["centred"] is False
