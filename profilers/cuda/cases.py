"""Test cases: inputs drawn by the judge, and the reference's outputs for them.

A worker gets files, never the reference: it learns the expected values, not how to compute them.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mcts.domain import KernelTask, Workload
from mcts.errors import InputError, WorldError
from profilers.children.scratch import ScratchFolder
from profilers.cuda.drawing import AS_GIVEN, STORED, VARIATIONS, Array, Variation, draw, widen
from profilers.cuda.reference import NumpyReference

_EXPECTED_F64_LIMIT = 4 * 2**30
_LARGEST = {"float16": 65504.0, "bfloat16": 3.38e38, "float32": 3.4e38, "float64": 1.79e308}


@dataclass(frozen=True, slots=True)
class CaseFiles:
    """One case on disk: raw little-endian arrays, inputs in their dtype, expected values wider.

    `to_json` is what a worker reads: per input its file, per output the file of expected values,
    their dtype, the output's own dtype and its number of elements. `label` says how the inputs
    differ from the task's own distribution.
    """

    inputs: dict[str, str]
    outputs: dict[str, dict[str, Any]]
    label: str = ""

    @property
    def size_bytes(self) -> int:
        """Bytes to upload."""
        return sum(Path(path).stat().st_size for path in self.files)

    @property
    def files(self) -> tuple[str, ...]:
        return (*self.inputs.values(), *(item["file"] for item in self.outputs.values()))

    def to_json(self) -> dict[str, Any]:
        return {"inputs": self.inputs, "outputs": self.outputs}


class CaseStore:
    """A private folder of cases, in memory if there is room; removed by `close`."""

    def __init__(self, task: KernelTask, reference: NumpyReference) -> None:
        """WorldError if there is no place for a folder."""
        self._task = task
        self._reference = reference
        folder = _roomy_folder(task)
        try:
            self._scratch = ScratchFolder(folder)
        except OSError as error:
            where = folder or tempfile.gettempdir()
            raise WorldError(f"cannot make a folder for test cases in {where}: {error}") from error
        self.folder = self._scratch.path
        self._made = 0

    def make(
        self,
        workload: Workload,
        *,
        count: int = 1,
        on_progress: Callable[[str], None] | None = None,
    ) -> list[CaseFiles]:
        """Draw `count` fresh cases from the system's entropy, several at once if memory allows.

        Raises InputError for a faulty reference, WorldError for a full disk.
        """
        size = sum(buffer.bytes(workload.shape) for buffer in self._task.buffers)
        if on_progress is not None:
            on_progress(
                f"computing the reference on {count} random cases of {workload.name} "
                f"({size / 2**20:.0f} MiB each)"
            )
        names = [f"{workload.name}-{self._made + i}" for i in range(count)]
        self._made += count
        width = 6 * size  # float64 copies, and the reference's own temporaries
        threads = max(1, min(count, _available_bytes() // width))
        if threads == 1:
            return [self._make(workload, name) for name in names]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(lambda name: self._make(workload, name), names))

    def make_variations(self, workload: Workload) -> list[CaseFiles]:
        """A case for each of `VARIATIONS` on which the reference stays within the outputs' range.

        There are none if no input is of a float type: integers are drawn from one range only.
        """
        if not any(buffer.dtype in _LARGEST for buffer in self._task.inputs):
            return []
        made = []
        for variation in VARIATIONS:
            name = f"{workload.name}-{self._made}"
            self._made += 1
            with contextlib.suppress(InputError, _Unusable), np.errstate(all="ignore"):
                made.append(self._make(workload, name, variation))
        return made

    def discard(self, cases: Sequence[CaseFiles]) -> None:
        """Remove the files of cases that are no longer needed."""
        for case in cases:
            for path in case.files:
                Path(path).unlink(missing_ok=True)

    def close(self) -> None:
        self._scratch.close()

    def _make(self, workload: Workload, name: str, variation: Variation = AS_GIVEN) -> CaseFiles:
        generator = np.random.Generator(np.random.Philox(secrets.randbits(128)))
        inputs: dict[str, str] = {}
        wide: dict[str, Array] = {}
        token = secrets.token_hex(4)
        for buffer in self._task.inputs:
            stored = draw(
                variation.applied(buffer), workload.shape, generator, scale=variation.scale
            )
            inputs[buffer.name] = self._write(f"{name}-{token}-{buffer.name}.bin", stored)
            wide[buffer.name] = widen(stored, buffer.dtype)
            del stored
        try:
            expected = self._reference(wide, workload)
        except InputError:
            self.discard([CaseFiles(inputs=inputs, outputs={})])
            raise
        del wide
        if variation is not AS_GIVEN and not _in_range(self._task, expected):
            self.discard([CaseFiles(inputs=inputs, outputs={})])
            raise _Unusable
        kind = expected_dtype(sum(array.size for array in expected.values()))
        outputs = {}
        for buffer in self._task.outputs:
            array = np.ascontiguousarray(expected[buffer.name], dtype=STORED[kind])
            outputs[buffer.name] = {
                "file": self._write(f"{name}-{token}-{buffer.name}.bin", array),
                "expected_dtype": kind,
                "dtype": buffer.dtype,
                "elements": int(array.size),
            }
        return CaseFiles(inputs=inputs, outputs=outputs, label=variation.label)

    def _write(self, name: str, array: Array) -> str:
        path = self.folder / name
        try:
            array.tofile(path)
        except OSError as error:
            raise WorldError(f"cannot write a test case to {self.folder}: {error}") from error
        return str(path)


def inputs_in_tf32(task: KernelTask) -> list[str]:
    """The inputs that a candidate may cut to TF32 before it multiplies them."""
    return [buffer.name for buffer in task.inputs if buffer.tf32]


def expected_dtype(elements: int) -> str:
    """The dtype in which so many expected values of a case are stored."""
    return "float64" if 8 * elements <= _EXPECTED_F64_LIMIT else "float32"


class _Unusable(Exception):
    """On such inputs the reference leaves the range of its outputs."""


def _in_range(task: KernelTask, expected: Mapping[str, Array]) -> bool:
    """Whether all expected values are finite in the output's dtype."""
    for buffer in task.outputs:
        most = float(np.max(np.abs(expected[buffer.name])))
        if not most <= _LARGEST.get(buffer.dtype, np.inf) or np.isinf(most):
            return False
    return True


def _roomy_folder(task: KernelTask) -> Path | None:
    """Shared memory if it has room for the timed cases several times over; None for the default."""
    need = (
        12
        * 3
        * sum(
            buffer.bytes(workload.shape)
            for workload in task.timed_workloads
            for buffer in task.buffers
        )
    )
    memory = Path("/dev/shm")
    try:
        if memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > need:
            return memory
    except OSError:
        pass
    return None


def _available_bytes() -> int:
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return 4 * 2**30
