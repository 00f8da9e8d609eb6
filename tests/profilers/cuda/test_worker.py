"""The whole GPU phase, worker and judge, on a driver that is only emulated."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from mcts.domain import Buffer, KernelTask, Tolerance, Workload
from profilers.compiling.building import Built, Failed
from profilers.hardware import driver
from profilers.launching import session
from profilers.launching.memory import TypedRegion
from profilers.launching.precision import REGIONS
from profilers.launching.sealing import fresh_key
from profilers.launching.session import DeviceSession
from tests.profilers import emulated
from tests.profilers.place import QUICK, Array, Body, Place, scaled

SIZES = {"main": 4096, "small": 1000}


@pytest.fixture
def task(scale_task: KernelTask) -> KernelTask:
    workloads = [
        Workload(name=name, shape={"n": n}, weight=name == "main") for name, n in SIZES.items()
    ]
    return scale_task.model_copy(
        update={"workloads": tuple(workloads), "tolerance": Tolerance(relative=1e-3, absolute=1e-3)}
    )


def test_an_honest_kernel_is_measured(place: Place, gpu: emulated.Driver) -> None:
    gpu.call_us["scale"] = 7.0
    first = place.evaluate("baseline", lambda: scaled)
    assert first.measured, first.message
    assert first.verification is not None and first.verification.error_ratio == 0
    assert first.verification.rounds == 1 + 3 + 3
    timing = first.timing
    assert timing is not None and timing.speedup == 1 and timing.median_us == pytest.approx(7)
    assert timing.rounds == QUICK.min_blocks * QUICK.rounds and timing.detectable == 0
    assert gpu.resets > timing.rounds, "lines that a kernel marked to stay in L2 are let go"
    assert place.evaluate("other", lambda: lambda x, y: np.add(x, x, out=y)).measured


def kept(x: Array, bits: int) -> Array:
    """float32 values cut off after so many bits of their mantissa, as tensor cores cut them."""
    mask = np.uint32(2**32 - 2 ** (23 - bits))
    return (x.view(np.uint32) & mask).view(np.float32)


@pytest.mark.parametrize(
    ("tf32", "bits", "status"),
    [(False, 23, ""), (False, 10, "wrong_result"), (True, 23, ""), (True, 10, ""),
     (True, 7, "refused")],
)  # fmt: skip
def test_an_input_may_be_cut_to_tf32_where_the_task_says_so(
    gpu: emulated.Driver, tf32: bool, bits: int, status: str, task: KernelTask, tmp_path: Path
) -> None:
    x, y = task.buffers
    buffers = (x.model_copy(update={"tf32": tf32}), y)
    tight = Tolerance(relative=1e-2 if bits < 10 else 1e-5, absolute=1e-6)
    own = Place(task.model_copy(update={"tolerance": tight, "buffers": buffers}), tmp_path)

    def cut() -> Body:
        return lambda x, y: np.multiply(kept(x, bits), 2, out=y)

    with closing(own.store):
        assert own.evaluate("baseline", lambda: scaled).measured
        if not status:
            assert own.evaluate("cut", cut).measured
            return
        with pytest.raises(Failed) as failed:
            own.evaluate("cut", cut)
    assert failed.value.status == status
    if status == "refused":
        assert "at most 2 times" in str(failed.value)


def test_cutting_to_tf32_keeps_what_is_no_number(held: DeviceSession) -> None:
    words = np.array(
        [0x3F801FFF, 0xBF801FFF, 0x3FFFFFFF, 0x00001FFF, 0x7F800000, 0xFF800000, 0x7F800001],
        dtype=np.uint32,
    )  # fmt: skip
    context, memory = held.context, held.memory
    given, cut = memory.get("given", words.nbytes), memory.get("cut", words.nbytes)
    context.upload(given.pointer, int(words.ctypes.data), words.nbytes)
    held.cut_tf32(given, cut)
    context.synchronize()
    found = np.frombuffer(context.download(cut.pointer, words.nbytes), dtype=np.uint32)
    assert [hex(word) for word in found] == [
        "0x3f800000", "0xbf800000", "0x3fffe000", "0x0", "0x7f800000", "0xff800000", "0x7f800001",
    ]  # fmt: skip


def test_events_are_given_back(place: Place, gpu: emulated.Driver) -> None:
    place.evaluate("baseline", lambda: scaled)
    before = gpu.freed_events
    place.evaluate("baseline", lambda: scaled)
    assert gpu.freed_events >= before + 10


def test_a_wrong_kernel_is_told_where(place: Place) -> None:
    def wrong(x: Array, y: Array) -> None:
        y[:] = 2 * x
        y[5] += 1

    with pytest.raises(
        Failed, match=r"small: 1 of 1000 elements of y wrong; first at \[5\]"
    ) as got:
        place.evaluate("wrong", lambda: wrong)
    assert got.value.status == "wrong_result"
    expected = float(str(got.value).split("expected ")[1].split(" ")[0])
    assert abs(float(str(got.value).split("got ")[1].split(",")[0]) - expected - 1) < 1e-3


@pytest.mark.parametrize("where", [0, 500, 999])
def test_an_element_that_is_not_written_is_seen(place: Place, where: int) -> None:
    def holed(x: Array, y: Array) -> None:
        kept = y[where].copy()
        y[:] = 2 * x
        y[where] = kept

    with pytest.raises(Failed, match="1 NaN"):
        place.evaluate("holed", lambda: holed)


def test_a_scan_of_memory_finds_nothing_expected(place: Place, gpu: emulated.Driver) -> None:
    seen: list[str] = []

    def scan(x: Array, y: Array) -> None:
        wanted = np.float64(2) * x.astype(np.float64)
        needles = {
            "double": wanted[:4].tobytes(),
            "single": wanted[:8].astype(np.float32).tobytes(),
        }
        for pointer, size in gpu.memory().items():
            content = ctypes.string_at(pointer, size)
            seen.extend(name for name, needle in needles.items() if needle in content)
        y[:] = 2 * x

    place.evaluate("baseline", lambda: scaled)
    assert place.evaluate("scan", lambda: scan).measured
    assert not seen, "neither the expected values nor the baseline's output lie open"


def test_outputs_kept_in_globals_are_of_no_use(place: Place) -> None:
    def cheat() -> Body:
        kept: dict[int, Array] = {}
        calls = 0

        def replay(x: Array, y: Array) -> None:
            nonlocal calls
            calls += 1
            if calls > 4 and len(x) in kept:
                y[:] = kept[len(x)]
            else:
                y[:] = 2 * x
                kept[len(x)] = y.copy()

        return replay

    with pytest.raises(Failed, match="elements of y wrong"):
        place.evaluate("cheat", cheat)


def test_a_cheat_that_waits_for_the_timing_is_found_while_timed(place: Place) -> None:
    calls = 0

    def late(x: Array, y: Array) -> None:
        nonlocal calls
        calls += 1
        y[:] = 2 * x if calls <= 7 + 2 else 0

    with pytest.raises(Failed, match="while being timed") as caught:
        place.evaluate("late", lambda: late)
    assert caught.value.status == "wrong_result"
    assert caught.value.verification is not None and not caught.value.verification.passed


def test_a_lower_precision_is_refused(place: Place) -> None:
    def coarse(x: Array, y: Array) -> None:
        y[:] = 2 * x.astype(np.float16).astype(np.float32)

    with pytest.raises(Failed, match="lower precision") as caught:
        place.evaluate("coarse", lambda: coarse)
    assert caught.value.status == "refused"
    refusal = caught.value.refusal
    assert refusal is not None and refusal.cheat == "precision_downgrade"


class FaintPlace(Place):
    """Its baseline's outputs are faint as well."""

    def built(self, name: str, make: Callable[[], Body]) -> Built:
        return super().built(name, (lambda: faded) if name == "baseline" else make)


@pytest.fixture
def faint(gpu: emulated.Driver, task: KernelTask, tmp_path: Path) -> Iterator[Place]:
    """A tolerance that is a hundred times wider than all but the smallest workload's outputs."""
    task = task.model_copy(
        update={
            "reference": "def reference(x):\n    return x * (1e-4 if x.size > 1000 else 1.0)\n",
            "tolerance": Tolerance(relative=0, absolute=1e-2),
        }
    )
    place = FaintPlace(task, tmp_path)
    yield place
    place.store.close()


def faded(x: Array, y: Array) -> None:
    y[:] = x * np.float32(1e-4 if x.size > 1000 else 1.0)


def test_zeros_within_the_tolerance_are_wrong(faint: Place) -> None:
    def nothing(x: Array, y: Array) -> None:
        y[:] = 0 if x.size > 1000 else x

    honest = faint.evaluate("baseline", lambda: faded)
    assert honest.measured, honest.message
    with pytest.raises(
        Failed, match="main: y is within the tolerance, but its error is 100 % of the output itself"
    ) as caught:
        faint.evaluate("nothing", lambda: nothing)
    assert caught.value.status == "wrong_result" and caught.value.refusal is None
    found = caught.value.verification
    assert found is not None and not found.passed and found.detail == str(caught.value)


def test_zeros_within_the_tolerance_are_wrong_also_while_timed(faint: Place) -> None:
    calls = 0

    def late(x: Array, y: Array) -> None:
        nonlocal calls
        calls += 1
        faded(x, y)
        if calls > 7 + 2:
            y[:] = 0

    with pytest.raises(Failed, match="while being timed: main: y is within the tolerance") as got:
        faint.evaluate("late", lambda: late)
    assert got.value.status == "wrong_result"


def test_an_honest_kernel_need_not_be_as_exact_as_an_exact_baseline(place: Place) -> None:
    def rounded(x: Array, y: Array) -> None:
        y[:] = np.nextafter(2 * x, np.float32(np.inf))

    assert place.evaluate("rounded", lambda: rounded).measured


def test_a_kernel_for_one_distribution_only_is_wrong(place: Place) -> None:
    def clipped(x: Array, y: Array) -> None:
        y[:] = 2 * np.clip(x, -7, 7)  # no draw of the task's own is as large

    with pytest.raises(Failed, match=r"small \(inputs scaled by 4\)"):
        place.evaluate("clipped", lambda: clipped)


def test_changed_inputs_are_seen(place: Place) -> None:
    def zeroing(x: Array, y: Array) -> None:
        y[:] = 2 * x
        x[:] = 0

    with pytest.raises(Failed, match="input x of case 1 was changed"):
        place.evaluate("zeroing", lambda: zeroing)


def test_batches_run_on_moving_buffers_and_are_counted(place: Place, gpu: emulated.Driver) -> None:
    place.evaluate("baseline", lambda: scaled)
    before = gpu.launched.count("scale")
    reply = place.worker.ask({"op": "batch", "role": "baseline", "workload": "main", "calls": 5})
    assert gpu.launched.count("scale") - before == 6, "one of them is not counted"
    assert reply["event_us"] == pytest.approx(50) and reply["calls"] == 5
    assert place.worker.ask({"op": "guard"})["damaged"] == []


def test_a_fault_is_the_candidates_and_names_the_cuda_error(place: Place) -> None:
    def faulty(_x: Array, _y: Array) -> None:
        raise driver.CudaError("CUDA_ERROR_ILLEGAL_ADDRESS", 700, "an illegal access", "sync")

    with pytest.raises(Failed, match=r"ILLEGAL_ADDRESS.*check its indices") as caught:
        place.evaluate("faulty", lambda: faulty)
    assert caught.value.status == "runtime_error"


@pytest.fixture
def held(gpu: emulated.Driver) -> DeviceSession:
    return DeviceSession(0, b"")


@pytest.mark.parametrize("size", [8, 17, 4096])
def test_sealing_twice_gives_back(held: DeviceSession, size: int) -> None:
    region = held.memory.get("a", size)
    content = np.random.default_rng(0).bytes(size)
    ctypes.memmove(region.pointer, content, size)
    view = TypedRegion(region, "uint8", fresh_key())
    held.seal(view)
    sealed = ctypes.string_at(region.pointer, size)
    assert sealed != content
    assert held._element(view, size - 1) == content[size - 1]
    held.seal(view)
    assert ctypes.string_at(region.pointer, size) == content


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [("float64", "<f8"), ("float32", "<f4"), ("float16", "<f2"), ("int64", "<i8"),
     ("int32", "<i4"), ("int8", "<i1"), ("uint8", "<u1")],
)  # fmt: skip
def test_a_comparison_sees_sealed_values_of_every_type(
    held: DeviceSession, dtype: str, kind: str
) -> None:
    count = 203
    values = np.arange(count).astype(kind)
    views = []
    for name in ("found", "expected"):
        region = held.memory.get(name, values.nbytes)
        ctypes.memmove(region.pointer, values.tobytes(), values.nbytes)
        views.append(TypedRegion(region, dtype, fresh_key()))
    width = values.itemsize
    ctypes.memmove(views[0].region.pointer + 7 * width, np.array([9]).astype(kind).tobytes(), width)
    for view in views:
        held.seal(view)
    held.clear_results()
    held.compare(0, views[0], views[1], count, (0.0, 1.0))
    output = session.DeviceOutput(views[0], views[1], count)
    (found,) = held.results(session.DeviceCase({}, {"y": output}), values=True)
    assert (found["mismatches"], found["first"], found["got"], found["expected"]) == (1, 7, 9, 7)
    assert (found["max_error"], found["worst_ratio"]) == (2, 2)
    share = math.ceil(count / REGIONS)
    assert [i for i, square in enumerate(found["square_error"]) if square] == [7 // share]
    assert sum(found["square_error"]) == 4
    assert sum(found["square_expected"]) == float((values.astype(float) ** 2).sum())


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("fill", ["normal", "uniform"])
def test_the_device_draws_what_the_host_draws(held: DeviceSession, dtype: str, fill: str) -> None:
    size = np.dtype(dtype).itemsize
    region = held.memory.get("x", 20_000 * size)
    held.fill_random(region, dtype, fill, seed=11)
    found = np.frombuffer(ctypes.string_at(region.pointer, region.size), dtype).astype(float)
    assert abs(found.mean()) < 0.03
    assert abs(found.std() - (1 if fill == "normal" else 3**-0.5)) < 0.03
    assert fill == "normal" or np.abs(found).max() <= 1
    held.fill_random(region, dtype, fill, seed=12)
    again = np.frombuffer(ctypes.string_at(region.pointer, region.size), dtype)
    assert abs(np.corrcoef(found, again.astype(float))[0, 1]) < 0.05
    if dtype == "float64":
        assert np.mean(found == found.astype(np.float32)) < 0.01


def test_the_device_draws_integers_from_the_same_range(held: DeviceSession) -> None:
    for dtype, low in (("int64", -8), ("int32", -8), ("int8", -8), ("uint8", 0)):
        region = held.memory.get(dtype, 4096 * np.dtype(dtype).itemsize)
        held.fill_random(region, dtype, "uniform", seed=3)
        found = np.frombuffer(ctypes.string_at(region.pointer, region.size), dtype)
        assert (found.min(), found.max()) == (low, low + 15)


def test_a_buffer_of_bfloat16_is_rounded(held: DeviceSession) -> None:
    region = held.memory.get("x", 2 * 20_000)
    held.fill_random(region, "bfloat16", "uniform", seed=5)
    bits = np.frombuffer(ctypes.string_at(region.pointer, region.size), np.uint16)
    values = (bits.astype(np.uint32) << 16).view(np.float32)
    assert abs(values.mean()) < 0.02 and np.abs(values).max() <= 1


def test_many_outputs_have_their_slots(held: DeviceSession, tmp_path: Path) -> None:
    buffers = tuple(Buffer(name=f"y{i}", role="output", shape=("n",)) for i in range(100))
    np.zeros(8, np.float64).tofile(tmp_path / "zero.bin")
    item = {"file": str(tmp_path / "zero.bin"), "expected_dtype": "float64", "dtype": "float32",
            "elements": 8}  # fmt: skip
    case = held.add_case(
        {"inputs": {}, "outputs": {buffer.name: item for buffer in buffers}}, shared="many"
    )
    held.poison([case.outputs["y99"].found.region])
    held.clear_results()
    held.compare_case(case, (0.0, 0.0))
    found = held.results(case, values=True)
    assert [entry["name"] for entry in found if entry["mismatches"]] == ["y99"]
    assert found[99]["nans"] == 8 and held.damage() == []
