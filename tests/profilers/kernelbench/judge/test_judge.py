"""The judge of PyTorch candidates, on a device of numpy and sleep with the same protocol."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcts.domain import Candidate, Evaluation, KernelTask, Policy, Tolerance, Workload
from mcts.errors import InputError, UnfitTask
from profilers.kernelbench.judge.clients import OracleClient
from profilers.kernelbench.judge.evaluator import KernelBenchEvaluator, Processes
from profilers.kernelbench.judge.settings import KernelBenchSettings

PROBLEM = """
import time

class Model:
    def __init__(self, rng):
        self.weight = rng.normal(size=(64, 64)).astype("f4")

    def __call__(self, x):
        time.sleep(0.012)
        return x @ self.weight

    def exact(self, x):
        return x @ self.weight.astype("f8")

def get_inputs(rng):
    return [rng.normal(size=(32, 64)).astype("f4")]
"""
HONEST = """
import time

class ModelNew:
    def __init__(self, rng):
        self.weight = np.zeros((64, 64), "f4")

    def __call__(self, x):
        time.sleep({seconds})
        return x @ self.weight
"""
FAKE = Processes(
    oracle="tests.support.fake_device.oracle",
    fork_server="tests.support.fake_device.fork_server",
    needs="numpy",
)
# Loose clocks: what the host's scheduler does to a sleep is not what is tested here.
SETTINGS = KernelBenchSettings(
    blocks=4, least_blocks=4, calls=6, call_deadline_s=4.0, load_deadline_s=4.0, unsafe=True,
    clock_slack_us=4000.0, confirm_processes=2, widest_interval=math.inf,
)  # fmt: skip


def problem_task(text: str = PROBLEM, **policy: str) -> KernelTask:
    return KernelTask(
        name="product",
        dialect="kernelbench",
        baseline=Candidate(source=text + "\nModelNew = Model\n"),
        reference=text,
        workloads=(Workload(name="main", shape={}),),
        tolerance=Tolerance(relative=1e-4, absolute=1e-4),
        policy=Policy.model_validate(policy),
    )


@pytest.fixture(scope="module")
def judge() -> Iterator[KernelBenchEvaluator]:
    judge = KernelBenchEvaluator(problem_task(), device="cpu", settings=SETTINGS, processes=FAKE)
    yield judge
    judge.close()


def verdict(judge: KernelBenchEvaluator, source: str) -> Evaluation:
    return judge.evaluate(Candidate(source=source))


def body(code: str) -> str:
    """A candidate whose call is `code`."""
    lines = "\n".join(f"        {line}" for line in code.strip().splitlines())
    head = HONEST.split("    def __call__")[0].replace("import time", "import os, sys, time")
    return f"{head}    def __call__(self, x):\n{lines}\n"


def test_headers_are_where_a_candidates_compilers_look(tmp_path: Path) -> None:
    (tmp_path / "own.h").write_text("#pragma once\n")
    settings = replace(SETTINGS, readable=(tmp_path,), includes=(tmp_path,))
    asks = """# load_inline is what this stands for
import os
with open(os.path.join(os.environ["CPATH"], "own.h")) as header:
    assert header.read() == "#pragma once\\n"
"""
    with closing(
        KernelBenchEvaluator(problem_task(), device="cpu", settings=settings, processes=FAKE)
    ) as judge:
        found = verdict(judge, asks + HONEST.format(seconds=0.003))
    assert found.status == "measured", found.message


def test_the_model_is_as_fast_as_itself(judge: KernelBenchEvaluator) -> None:
    timing = judge.baseline_evaluation.timing
    assert timing is not None
    assert timing.speedup == pytest.approx(1.0, abs=0.25)


def test_a_faster_candidate_is_measured(judge: KernelBenchEvaluator) -> None:
    found = verdict(judge, HONEST.format(seconds=0.003))
    assert found.status == "measured", found.message
    assert found.timing is not None
    assert 2 < found.timing.speedup < 5
    assert found.timing.speedup_low <= found.timing.speedup <= found.timing.speedup_high
    assert found.isolation is not None


def test_ctrl_c_while_the_reference_works_is_told_as_that(
    judge: KernelBenchEvaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is interrupted in a request ends the process: it has an answer that nobody reads."""
    ask = OracleClient.ask

    def interrupted(self: OracleClient, op: str, **fields: Any) -> dict[str, Any]:
        if op == "compare":
            self.close()
            raise KeyboardInterrupt
        return ask(self, op, **fields)

    monkeypatch.setattr(OracleClient, "ask", interrupted)
    with pytest.raises(KeyboardInterrupt):
        verdict(judge, HONEST.format(seconds=0.003))


def test_what_is_wrong_only_beyond_is_told_after_all_else(judge: KernelBenchEvaluator) -> None:
    """The second keeps the first weights, and must not be said to be wrong out there only."""
    small = "y = x @ self.weight if abs(x).max() > 0.1 else x @ self.weight + 1"
    keeps = """
if not hasattr(self, "kept"):
    self.kept = self.weight.copy()
return x @ self.kept if abs(x).max() > 0.1 else x @ self.kept + 1
"""
    found = verdict(judge, body(f"{small}\nreturn y"))
    assert found.status == "wrong_result"
    assert found.message.startswith("outside the drawn range only")
    found = verdict(judge, body(keeps))
    assert found.refusal is not None and found.refusal.cheat == "cached_weights"


def test_the_next_verification_is_prepared_while_the_judge_is_idle(
    judge: KernelBenchEvaluator,
) -> None:
    verdict(judge, HONEST.format(seconds=0.003))
    ahead = judge._place.ahead
    assert ahead._thread is not None
    ahead._thread.join(20.0)
    rounds = {item.variation for item in judge._place.rounds() if item.weights == "same"}
    assert set(ahead._ready) == rounds - {"batch"}, "there are no such inputs"
    before = {draw.name for draws in ahead._ready.values() for draw in draws}
    verdict(judge, HONEST.format(seconds=0.004))
    ahead.stop()
    assert not before & {draw.name for draws in ahead._ready.values() for draw in draws}


def test_a_speedup_that_is_known_to_no_factor_is_suspect() -> None:
    """Every other block is quick, as of a thread that sometimes gets ahead of the calls."""
    quick_or_not = body("""
now = time.monotonic()
if now - getattr(self, "last", 0.0) > 0.02:
    self.quick = not getattr(self, "quick", False)
time.sleep(0.0002 if self.quick else 0.018)
self.last = time.monotonic()
return x @ self.weight
""")
    settings = replace(SETTINGS, doubt_budget_s=0.3, widest_interval=4.0)
    with closing(
        KernelBenchEvaluator(problem_task(), device="cpu", settings=settings, processes=FAKE)
    ) as judge:
        found = verdict(judge, quick_or_not)
    assert found.status == "suspect"
    assert "times as fast, which says nothing" in found.message


def test_the_judge_tells_its_stages(judge: KernelBenchEvaluator) -> None:
    told: list[tuple[str, str]] = []
    judge.tell_stages(lambda candidate_id, stage: told.append((candidate_id, stage)))
    wrong = Candidate(source=body("return (x @ self.weight)[:1]"))
    judge.evaluate(wrong)
    assert told == [(wrong.id, "compiling"), (wrong.id, "verifying")]
    told.clear()
    right = Candidate(source=HONEST.format(seconds=0.003))
    judge.evaluate(right)
    judge.tell_stages(lambda _candidate_id, _stage: None)
    assert told[:3] == [(right.id, stage) for stage in ("compiling", "verifying", "timing")]


def test_a_candidate_that_waits_tells_the_stage_waiting(judge: KernelBenchEvaluator) -> None:
    waits, told = threading.Event(), list[str]()

    def hear(_candidate_id: str, stage: str) -> None:
        told.append(stage)
        if stage == "waiting":
            waits.set()

    judge.tell_stages(hear)
    other = threading.Thread(target=verdict, args=(judge, "class ModelNew(:"))
    with judge._lock:
        other.start()
        assert waits.wait(30)
    other.join()
    judge.tell_stages(lambda _candidate_id, _stage: None)
    assert told[:2] == ["waiting", "compiling"]


def test_one_candidate_is_timed_against_another() -> None:
    told: list[str] = []
    other = Candidate(source=HONEST.format(seconds=0.006))
    task = problem_task().model_copy(update={"baseline": other})
    judge = KernelBenchEvaluator(
        task, device="cpu", settings=SETTINGS, processes=FAKE, on_progress=told.append
    )
    try:
        found = verdict(judge, HONEST.format(seconds=0.002))
    finally:
        judge.close()
    assert "judging the baseline against itself" in told
    assert found.timing is not None and found.timing.baseline == "baseline"
    assert 1.6 < found.timing.speedup < 4.5


ONLY_AS_DRAWN = """
y = x @ self.weight
return y if abs(x).max() > 0.1 else y + 1
"""


def test_what_is_right_on_the_drawn_range_only_is_told_as_that(judge: KernelBenchEvaluator) -> None:
    found = verdict(judge, body(ONLY_AS_DRAWN))
    assert found.status == "wrong_result"
    assert found.message.startswith("outside the drawn range only (rows ")
    drawn = KernelBenchEvaluator(
        problem_task(inputs="drawn"), device="cpu", settings=SETTINGS, processes=FAKE
    )
    try:
        assert verdict(drawn, body(ONLY_AS_DRAWN)).status == "measured"
    finally:
        drawn.close()


def test_another_baseline_must_be_right_beyond_the_drawn_range() -> None:
    task = problem_task().model_copy(update={"baseline": Candidate(source=body(ONLY_AS_DRAWN))})
    with pytest.raises(UnfitTask, match=r"the baseline of .* outside the drawn range"):
        KernelBenchEvaluator(task, device="cpu", settings=SETTINGS, processes=FAKE)


def test_rows_on_which_the_model_is_not_steady_are_left_out() -> None:
    told: list[str] = []
    text = PROBLEM.replace(
        "        return x @ self.weight\n",
        "        y = x @ self.weight\n        return y if abs(x).max() > 0.1 else y + 1\n",
    )
    other = KernelBenchEvaluator(
        problem_task(text), device="cpu", settings=SETTINGS, processes=FAKE, on_progress=told.append
    )
    try:
        assert other.baseline_evaluation.measured
        assert any("not steady on rows large" in line for line in told)
        assert verdict(other, body(ONLY_AS_DRAWN)).status == "measured"
    finally:
        other.close()


def test_work_on_another_stream_is_timed_by_the_judges_clock(judge: KernelBenchEvaluator) -> None:
    found = verdict(
        judge,
        body(
            "y = np.zeros((32, 64), 'f4')\n"
            "device.defer(lambda: (time.sleep(0.012), np.matmul(x, self.weight, out=y)))\n"
            "return y"
        ),
    )
    assert found.status == "suspect", found.message
    assert found.refusal is not None
    assert found.refusal.cheat == "side_stream"
    assert found.timing is not None
    assert found.timing.speedup < 1.5


@pytest.mark.parametrize(
    ("source", "status", "word"),
    [
        (body("return (x @ self.weight)[:1]"), "wrong_result", "shape"),
        (body("return x @ self.weight + (x > 2)"), "wrong_result", "elements"),
        (body("return np.full((32, 64), np.nan, 'f4')"), "wrong_result", "NaN"),
        (body("raise RuntimeError('no such kernel')"), "runtime_error", "no such kernel"),
        (body("os._exit(0)"), "runtime_error", "died"),
        (body("import ctypes; ctypes.string_at(0)"), "runtime_error", "SIGSEGV"),
        (body("while True: pass"), "timed_out", "did not finish"),
        (body("while True: os.write(1, b'x' * 65536)"), "timed_out", "did not finish"),
        ("class ModelNew(:", "compile_failed", ""),
        ("class ModelNew:\n    def __init__(self, rng): pass", "runtime_error", "weight"),
    ],
)
def test_each_fault_has_its_own_verdict(
    judge: KernelBenchEvaluator, source: str, status: str, word: str
) -> None:
    found = verdict(judge, source)
    assert found.status == status, found.message
    assert word in found.message


def loosely_judged(judge: KernelBenchEvaluator, code: str) -> Evaluation:
    """A verdict where a tolerance as wide as the outputs lets almost anything through."""
    loose = problem_task().model_copy(
        update={"tolerance": judge.task.tolerance.model_copy(update={"absolute": 1.0})}
    )
    other = KernelBenchEvaluator(loose, device="cpu", settings=SETTINGS, processes=FAKE)
    try:
        return verdict(other, body(code))
    finally:
        other.close()


def test_a_lower_precision_inside_is_refused(judge: KernelBenchEvaluator) -> None:
    half = "return (x.astype('f2').astype('f4') @ self.weight.astype('f2').astype('f4'))"
    found = loosely_judged(judge, half)
    assert found.status == "refused", found.message
    assert found.refusal is not None
    assert found.refusal.cheat == "precision_downgrade"


def test_a_mistake_that_a_wide_tolerance_hides_at_first_is_wrong(
    judge: KernelBenchEvaluator,
) -> None:
    slightly = "y = x @ self.weight; return y * (1.0001 if abs(x).max() < 8 else 2)"
    found = loosely_judged(judge, slightly)
    assert found.status == "wrong_result", found.message
    assert "inputs scaled" in found.message


def test_an_output_unlike_the_right_one_is_wrong_within_any_tolerance(
    judge: KernelBenchEvaluator,
) -> None:
    found = loosely_judged(judge, "return 0.0 * x @ self.weight")
    assert found.status == "wrong_result", found.message


def test_weights_kept_from_the_first_call_are_refused(judge: KernelBenchEvaluator) -> None:
    found = verdict(
        judge,
        body("self.kept = getattr(self, 'kept', self.weight.copy())\nreturn x @ self.kept"),
    )
    assert found.status == "refused", found.message
    assert found.refusal is not None
    assert found.refusal.cheat == "cached_weights"


def test_a_result_that_is_wrong_for_any_weights_is_no_cheat(judge: KernelBenchEvaluator) -> None:
    found = verdict(
        judge,
        body(
            "self.kept = getattr(self, 'kept', self.weight.copy())\n"
            "return x @ self.weight + (0 if np.array_equal(self.kept, self.weight) else 1)"
        ),
    )
    assert found.status == "wrong_result", found.message
    assert "new weights" in found.message


def test_weights_that_are_only_sampled_for_changes_are_refused(
    judge: KernelBenchEvaluator,
) -> None:
    found = verdict(
        judge,
        body(
            "self.count = getattr(self, 'count', 0) + 1\n"
            "if self.count < 9: return x @ self.weight\n"
            "self.kept = getattr(self, 'kept', self.weight.copy())\n"
            "return x @ self.kept"
        ),
    )
    assert found.status in ("refused", "wrong_result"), found.message


@pytest.mark.parametrize("answer", ["True", "[1]", "[{'cheat': 'none'}]", "None"])
def test_a_reply_of_another_form_is_a_refusal(judge: KernelBenchEvaluator, answer: str) -> None:
    found = verdict(
        judge,
        body(
            "import sys\n"
            "frame = sys._getframe()\n"
            "while frame and 'handlers' not in frame.f_locals: frame = frame.f_back\n"
            "handlers = frame.f_locals['handlers']\n"
            "call = handlers['call']\n"
            f"handlers['call'] = lambda request: {{**call(request), 'problems': {answer}}}\n"
            "return x @ self.weight"
        ),
    )
    assert found.status == "refused", found.message
    assert found.refusal is not None
    assert found.refusal.cheat == "forged_result"


def test_a_policy_may_let_weights_be_kept() -> None:
    task = problem_task(weights="frozen")
    judge = KernelBenchEvaluator(task, device="cpu", settings=SETTINGS, processes=FAKE)
    try:
        found = verdict(
            judge,
            body("self.kept = getattr(self, 'kept', self.weight.copy())\nreturn x @ self.kept"),
        )
    finally:
        judge.close()
    assert found.status == "measured", found.message


def test_results_kept_from_call_to_call_are_wrong(judge: KernelBenchEvaluator) -> None:
    found = verdict(
        judge, body("self.y = getattr(self, 'y', x @ self.weight)\nreturn self.y.copy()")
    )
    assert found.status == "wrong_result", found.message


def test_times_that_no_clock_has_seen_are_not_believed(judge: KernelBenchEvaluator) -> None:
    found = verdict(
        judge,
        body(
            "y = np.zeros((32, 64), 'f4')\n"
            "np.matmul(x, self.weight, out=y)\n"
            "device.defer(lambda: time.sleep(0.04))\n"
            "return y"
        ),
    )
    assert found.status == "suspect", found.message
    # Where the machine is busy the clock may be too unsteady to say how far they lie apart.
    assert "clock" in found.message


def test_an_unfair_task_is_refused_before_anything_is_judged() -> None:
    constant = PROBLEM.replace("return x @ self.weight", "return np.zeros((32, 64), 'f4')")
    with pytest.raises(InputError, match="no fair task"):
        KernelBenchEvaluator(
            problem_task(constant), device="cpu", settings=SETTINGS, processes=FAKE
        )


def test_confirming_uses_several_fresh_pairs_of_processes(judge: KernelBenchEvaluator) -> None:
    candidate = Candidate(source=HONEST.format(seconds=0.006))
    first = judge.evaluate(candidate)
    again = judge.confirm(candidate, first)
    assert again.measured, again.message
    assert again.timing is not None
    assert 1.3 < again.timing.speedup < 3


def test_a_problem_that_does_not_fit_the_device_is_refused_with_its_name() -> None:
    text = PROBLEM.replace("return [rng", 'raise MemoryError("no room for 6 GiB")\n    return [rng')
    with pytest.raises(UnfitTask, match=r"product is too large for CPU.*no room for 6 GiB"):
        KernelBenchEvaluator(problem_task(text), device="cpu", settings=SETTINGS, processes=FAKE)


def test_a_candidate_that_leaves_the_reference_no_memory_has_failed() -> None:
    text = PROBLEM.replace(
        "    def exact(self, x):\n",
        "    def exact(self, x):\n"
        '        if pathlib.Path("taken").exists():\n'
        '            raise MemoryError("no room for 6 GiB")\n',
    ).replace("import time", "import pathlib\nimport time")
    judge = KernelBenchEvaluator(
        problem_task(text), device="cpu", settings=SETTINGS, processes=FAKE
    )
    try:
        (judge._place.folder / "taken").touch()
        found = verdict(judge, HONEST.format(seconds=0.01))
    finally:
        judge.close()
    assert found.status == "runtime_error"
    assert "the reference finds no memory on the device: no room for 6 GiB" in found.message
