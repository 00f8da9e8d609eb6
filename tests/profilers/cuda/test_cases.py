"""Inputs are new, and rounded before the reference sees them; faulty references are named."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcts.domain import Buffer, KernelTask
from mcts.errors import InputError, WorldError
from profilers.children.processes import child_environment
from profilers.children.scratch import ScratchFolder
from profilers.cuda.cases import CaseStore
from profilers.cuda.drawing import VARIATIONS, draw, to_bfloat16, widen
from profilers.cuda.reference import NumpyReference


def with_reference(task: KernelTask, source: str) -> KernelTask:
    return task.model_copy(update={"reference": source})


def test_a_case_holds_inputs_and_the_references_outputs(scale_task: KernelTask) -> None:
    with closing(CaseStore(scale_task, NumpyReference(scale_task))) as store:
        first, second = store.make(scale_task.workloads[1], count=2)
        x = np.fromfile(first.inputs["x"], dtype=np.float32)
        y = np.fromfile(first.outputs["y"]["file"], dtype=np.float64)
        assert np.array_equal(y, 2 * x.astype(np.float64))
        assert first.outputs["y"]["elements"] == 1000
        assert not np.array_equal(x, np.fromfile(second.inputs["x"], dtype=np.float32))
        store.discard([first])
        assert not Path(first.inputs["x"]).exists()
        assert Path(second.inputs["x"]).exists()
    assert not store.folder.exists()


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "int64", "int32",
                                   "int8", "uint8"])  # fmt: skip
def test_the_reference_sees_what_the_kernel_sees(dtype: str, scale_task: KernelTask) -> None:
    buffers = (Buffer(name="x", role="input", dtype=dtype, shape=("n",)), scale_task.buffers[1])
    task = scale_task.model_copy(update={"buffers": buffers})
    with closing(CaseStore(task, NumpyReference(task))) as store:
        (case,) = store.make(task.workloads[1])
        size = Path(case.inputs["x"]).stat().st_size
        assert size == buffers[0].bytes(task.workloads[1].shape)
        stored: np.dtype[np.generic] = np.dtype(np.uint16 if dtype == "bfloat16" else dtype)
        x = widen(np.fromfile(case.inputs["x"], dtype=stored), dtype)
        assert np.array_equal(np.fromfile(case.outputs["y"]["file"]), 2 * x)
        assert len(np.unique(x)) > 10


@given(st.floats(-(2.0**100), 2.0**100, width=32))
def test_bfloat16_rounds_to_nearest(value: float) -> None:
    bits = to_bfloat16(np.array([value], dtype=np.float32))
    got = float(widen(bits, "bfloat16")[0])
    for neighbour in (int(bits[0]) - 1, int(bits[0]) + 1):
        other = float(widen(np.array([neighbour & 0xFFFF], dtype=np.uint16), "bfloat16")[0])
        assert not abs(other - value) < abs(got - value)


def test_fills_have_their_distribution() -> None:
    generator = np.random.default_rng(0)
    normal = draw(Buffer(name="a", role="input", shape=("n",)), {"n": 100_000}, generator)
    assert abs(normal.mean()) < 0.02 and abs(normal.std() - 1) < 0.02
    buffer = Buffer(name="a", role="input", shape=("n",), fill="uniform")
    uniform = draw(buffer, {"n": 100_000}, generator)
    assert uniform.min() >= -1 and uniform.max() < 1 and abs(uniform.mean()) < 0.02


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("def reference(x:", "SyntaxError"),
        ("other = 1", "defines no function"),
        ("def reference(z):\n    return z\n", "TypeError"),
        ("def reference(x):\n    return x[:5]\n", "shape"),
        ("def reference(x):\n    return {'z': x}\n", "returned no 'y'"),
        ("def reference(x):\n    return ['a', 'b']\n", "no array of numbers"),
    ],
)
def test_a_faulty_reference_is_an_input_error(
    scale_task: KernelTask, source: str, complaint: str
) -> None:
    task = with_reference(scale_task, source)
    with (
        pytest.raises(InputError, match=complaint),
        closing(CaseStore(task, NumpyReference(task))) as store,
    ):
        store.make(task.workloads[1])


def test_folders_of_killed_owners_are_swept_and_others_left(tmp_path: Path) -> None:
    script = (
        "import os, pathlib, sys\n"
        "from profilers.children.scratch import ScratchFolder\n"
        "folder = ScratchFolder(pathlib.Path(sys.argv[1]))\n"
        "(folder.path / 'big').write_text('x')\n"
        "os.kill(os.getpid(), 9)\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    assert subprocess.run(command, env=child_environment()).returncode == -9
    assert len(list(tmp_path.glob("*/big"))) == 1
    living = ScratchFolder(tmp_path)
    another = ScratchFolder(tmp_path)
    assert set(tmp_path.iterdir()) == {living.path, another.path}
    living.close()
    living.close()
    another.close()
    assert not list(tmp_path.iterdir())


def test_variations_leave_the_tasks_own_distribution(scale_task: KernelTask) -> None:
    with closing(CaseStore(scale_task, NumpyReference(scale_task))) as store:
        cases = store.make_variations(scale_task.workloads[1])
        assert [case.label for case in cases] == [item.label for item in VARIATIONS]
        quarter, four, swapped = (np.fromfile(case.inputs["x"], np.float32) for case in cases)
        assert quarter.std() == pytest.approx(0.25, rel=0.2)
        assert four.std() == pytest.approx(4, rel=0.2)
        assert np.abs(swapped).max() <= 1, "normal inputs become uniform"
        for case in cases:
            x = np.fromfile(case.inputs["x"], np.float32)
            assert np.array_equal(np.fromfile(case.outputs["y"]["file"]), 2 * x.astype(np.float64))
            assert case.size_bytes == 1000 * (4 + 8)


@pytest.mark.parametrize(
    ("reference", "output", "left"),
    [
        ("import numpy as np\ndef reference(x):\n    return np.exp(200 * x)\n", "float64", 2),
        ("def reference(x):\n    return 1e4 * x\n", "float16", 2),
        ("def reference(x):\n    assert abs(x).max() < 8\n    return x\n", "float32", 2),
    ],
)
def test_a_variation_that_the_reference_cannot_compute_is_left_out(
    reference: str, output: str, left: int, scale_task: KernelTask
) -> None:
    buffers = (scale_task.buffers[0], Buffer(name="y", role="output", dtype=output, shape=("n",)))
    task = with_reference(scale_task, reference).model_copy(update={"buffers": buffers})
    with closing(CaseStore(task, NumpyReference(task))) as store:
        cases = store.make_variations(task.workloads[1])
        assert len(cases) == left and "inputs scaled by 4" not in {case.label for case in cases}
        kept = {Path(path).name for case in cases for path in case.files}
        assert {path.name for path in store.folder.glob("*.bin")} == kept


def test_integers_have_one_distribution(scale_task: KernelTask) -> None:
    buffers = (Buffer(name="x", role="input", dtype="int32", shape=("n",)), scale_task.buffers[1])
    task = scale_task.model_copy(update={"buffers": buffers})
    with closing(CaseStore(task, NumpyReference(task))) as store:
        assert store.make_variations(task.workloads[1]) == []


def test_a_full_disk_is_a_world_error_that_names_the_file(
    scale_task: KernelTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = CaseStore(scale_task, NumpyReference(scale_task))
    monkeypatch.setattr(store, "folder", Path("/dev/full"))
    with pytest.raises(WorldError, match="/dev/full"):
        store.make(scale_task.workloads[1])
    store.close()
