"""The worker's state on the GPU: cases uploaded once, programs loaded, outputs compared.

Buffers are allocated once and reused across candidates. Everything that a candidate must not
change (inputs and expected values) is checksummed, so that a stray write is detected. A kernel can
read any address of its context, so expected values are kept sealed.
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from profilers.children.protocol import RequestRefused
from profilers.compiling.calls import Call
from profilers.hardware import driver
from profilers.launching.memory import ITEM_BYTES, BufferPool, DeviceCase, DeviceOutput, TypedRegion
from profilers.launching.precision import REGIONS
from profilers.launching.programs import PreparedCall, Program, Region
from profilers.launching.sealing import fresh_key, unsealed

DTYPE_CODES = {
    name: code
    for code, name in enumerate(
        ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int8", "uint8")
    )
}
_UNPACK = {"float64": "<d", "float32": "<f", "float16": "<e", "int64": "<q", "int32": "<i",
           "int8": "<b", "uint8": "<B"}  # fmt: skip
_RESULT_WORDS = 5 + 2 * REGIONS
_MANY_OUTPUTS = 32  # with more outputs regions are summed: a reply has to fit a frame
_LARGEST = 1e300  # stands for a sum that overflowed: JSON has no infinity
_POISON = 0xFF
_FLUSH_BYTES = 512 * 2**20
_PRINTF_FIFO_BYTES = 256 * 2**10


class Support:
    """The judge's own kernels, from `support.cu`."""

    def __init__(self, context: driver.Context, cubin: bytes) -> None:
        self._context = context
        self._module = driver.Module(cubin)
        self._functions: dict[str, driver.Function] = {}

    def run(self, kernel: str, blocks: int, threads: int, *arguments: object) -> None:
        """Enqueue one of the kernels."""
        self.prepare(kernel, blocks, threads, *arguments).enqueue(self._context.stream)

    def prepare(
        self, kernel: str, blocks: int, threads: int, *arguments: object, rows: int = 1
    ) -> driver.PreparedLaunch:
        """A launch of `blocks` by `rows` blocks; RequestRefused if there is no such kernel."""
        if kernel not in self._functions:
            function = self._module.function(kernel)
            if function is None:
                raise RequestRefused("internal", f"support.cu has no {kernel}", sticky=True)
            self._functions[kernel] = function
        function = self._functions[kernel]
        return driver.PreparedLaunch(
            function, grid=(blocks, rows, 1), block=(threads, 1, 1), arguments=arguments
        )


class DeviceSession:
    """Everything that a worker process holds on its GPU."""

    def __init__(self, ordinal: int, support_cubin: bytes) -> None:
        self.context = driver.Context(ordinal)
        self.context.limit(driver.PRINTF_FIFO_BYTES, _PRINTF_FIFO_BYTES)
        self.context.limit(driver.PERSISTING_L2_BYTES, 0)
        self.support = Support(self.context, support_cubin)
        self.memory = BufferPool(self.context)
        l2 = self.context.device.attribute(driver.L2_BYTES)
        self._flush_region = self.memory.get("flush", max(_FLUSH_BYTES, 4 * l2) // 16 * 16)
        self._sink = self.memory.get("sink", 512)
        self._results = self.memory.get("results", 8 * _RESULT_WORDS)
        blocks = self.context.multiprocessors * 4
        self._flush = self.support.prepare(
            "rooftree_flush", blocks, 512,
            ctypes.c_uint64(self._flush_region.pointer),
            ctypes.c_uint64(self._flush_region.size // 16),
            ctypes.c_uint64(self._sink.pointer),
        )  # fmt: skip
        self.fill_random(self._flush_region, "int32", "uniform", seed=1)
        self.cases: list[DeviceCase] = []
        self._sums: dict[str, int] = {}
        self.context.synchronize()

    def add_case(self, case: dict[str, Any], *, shared: str) -> DeviceCase:
        """Upload a case that stays; cases of the same `shared` name share output buffers."""
        added = self.upload(case, f"case{len(self.cases)}", shared=shared)
        self.cases.append(added)
        self._sums = self._checksums(self.cases)
        return added

    def upload(self, case: dict[str, Any], prefix: str, *, shared: str | None = None) -> DeviceCase:
        """Put a case's files on the device, the expected values sealed under a fresh key."""
        inputs = {
            name: self._upload_file(path, f"{prefix}/{name}")
            for name, path in case["inputs"].items()
        }
        outputs = {}
        for name, item in case["outputs"].items():
            size = item["elements"] * ITEM_BYTES[item["dtype"]]
            expected = self._upload_file(item["file"], f"{prefix}/expected/{name}")
            outputs[name] = DeviceOutput(
                found=TypedRegion(
                    self.memory.get(f"{shared or prefix}/out/{name}", size), item["dtype"]
                ),
                expected=TypedRegion(expected, item["expected_dtype"], fresh_key()),
                elements=item["elements"],
            )
            self.seal(outputs[name].expected)
        self._results = self.memory.get_least("results", 8 * _RESULT_WORDS * len(outputs))
        return DeviceCase(inputs=inputs, outputs=outputs)

    def seal(self, typed: TypedRegion) -> None:
        """Enqueue sealing a region under its key."""
        self.support.run(
            "rooftree_seal", self.context.multiprocessors * 8, 256,
            ctypes.c_uint64(typed.region.pointer),
            ctypes.c_uint64(typed.region.size),
            *typed.key.arguments,
        )  # fmt: skip

    def prepare(self, program: Program, call: Call, case: DeviceCase, owner: str) -> PreparedCall:
        """Allocate the call's scratch buffers and lay out its arguments for `case`."""
        return PreparedCall(
            self.context, program, call, case.regions | self.workspaces(call, owner)
        )

    def workspaces(self, call: Call, owner: str) -> dict[str, Region]:
        try:
            return {
                name: self.memory.get(f"{owner}/ws/{name}", size)
                for name, size in call.workspaces.items()
            }
        except driver.CudaError as error:
            if error.sticky:
                raise
            total = sum(call.workspaces.values())
            raise RequestRefused(
                "launch", f"no device memory for {total} bytes of workspace"
            ) from None

    def flush(self) -> None:
        """Enqueue reading a buffer several times the size of L2."""
        self._flush.enqueue(self.context.stream)

    def poison(self, regions: Iterable[Region]) -> None:
        """Enqueue filling outputs and scratch with bytes that read as NaN."""
        for region in regions:
            self.context.fill_bytes(region.pointer, _POISON, region.size)

    def fill_random(self, region: Region, dtype: str, fill: str, *, seed: int) -> None:
        """Enqueue filling a buffer with random values."""
        self.support.run(
            "rooftree_fill", self.context.multiprocessors * 8, 256,
            ctypes.c_uint64(region.pointer),
            ctypes.c_uint64(region.size // ITEM_BYTES[dtype]),
            ctypes.c_int32(DTYPE_CODES[dtype]),
            ctypes.c_int32(fill == "normal"),
            ctypes.c_uint64(seed),
        )  # fmt: skip

    def cut_tf32(self, region: Region, into: Region) -> None:
        """Enqueue copying float32 values, cut to TF32 as tensor cores cut what they multiply."""
        self.support.run(
            "rooftree_cut_tf32", self.context.multiprocessors * 8, 256,
            ctypes.c_uint64(region.pointer),
            ctypes.c_uint64(into.pointer),
            ctypes.c_uint64(region.size // ITEM_BYTES["float32"]),
        )  # fmt: skip

    def clear_results(self) -> None:
        self.context.fill_bytes(self._results.pointer, 0, self._results.size)

    def compare(
        self,
        slot: int,
        found: TypedRegion,
        expected: TypedRegion,
        elements: int,
        tolerance: tuple[float, float],
    ) -> None:
        """Enqueue comparing `found` with `expected`; the result is added to `slot`."""
        relative, absolute = tolerance
        share = -(-elements // REGIONS)
        self.support.prepare(
            "rooftree_compare",
            max(1, min(self.context.multiprocessors * 8 // REGIONS, share // 1024)), 256,
            ctypes.c_uint64(found.region.pointer),
            ctypes.c_uint64(expected.region.pointer),
            ctypes.c_uint64(elements),
            ctypes.c_int32(DTYPE_CODES[found.dtype]),
            ctypes.c_int32(DTYPE_CODES[expected.dtype]),
            ctypes.c_double(relative),
            ctypes.c_double(absolute),
            ctypes.c_uint64(self._results.pointer + 8 * _RESULT_WORDS * slot),
            *found.key.arguments,
            *expected.key.arguments,
            rows=REGIONS,
        ).enqueue(self.context.stream)  # fmt: skip

    def compare_case(self, case: DeviceCase, tolerance: tuple[float, float]) -> None:
        """Enqueue comparing all outputs of a case with the expected values."""
        for slot, output in enumerate(case.outputs.values()):
            self.compare(slot, output.found, output.expected, output.elements, tolerance)

    def results(self, case: DeviceCase, *, values: bool) -> list[dict[str, Any]]:
        """What the comparisons since `clear_results` found, one entry per output of `case`.

        With `values`, the first wrong element is read back from the output.
        """
        raw = self.context.download(self._results.pointer, 8 * _RESULT_WORDS * len(case.outputs))
        found = []
        for slot, (name, output) in enumerate(case.outputs.items()):
            entry = _entry(raw[8 * _RESULT_WORDS * slot :], name, output)
            if len(case.outputs) > _MANY_OUTPUTS:
                for sums in ("square_error", "square_expected"):
                    entry[sums] = [sum(entry[sums])]
            if entry["mismatches"] and values:
                entry["got"] = self._element(output.found, entry["first"])
                entry["expected"] = self._element(output.expected, entry["first"])
            found.append(entry)
        return found

    def damage(self) -> list[str]:
        """Names of guarded regions of the timed cases whose checksum has changed."""
        return [name for name, found in self._checksums(self.cases).items()
                if found != self._sums[name]]  # fmt: skip

    def guard(self, case: DeviceCase) -> dict[str, int]:
        """Checksums of a case's guarded regions, to compare before and after a call."""
        return self._checksums([case])

    def _checksums(self, cases: list[DeviceCase]) -> dict[str, int]:
        regions = {
            f"{name} of case {index}": region
            for index, case in enumerate(cases, 1)
            for name, region in case.guarded.items()
        }
        slots = self.memory.get("checksums", 8 * max(64, len(regions)))
        self.context.fill_bytes(slots.pointer, 0, slots.size)
        for slot, region in enumerate(regions.values()):
            self.support.run(
                "rooftree_checksum", self.context.multiprocessors * 8, 256,
                ctypes.c_uint64(region.pointer),
                ctypes.c_uint64(region.size),
                ctypes.c_uint64(slots.pointer + 8 * slot),
            )  # fmt: skip
        raw = self.context.download(slots.pointer, 8 * len(regions)) if regions else b""
        return dict(zip(regions, struct.unpack(f"<{len(regions)}Q", raw), strict=True))

    def _upload_file(self, path: str, name: str) -> Region:
        content = np.memmap(Path(path), dtype=np.uint8, mode="r")
        region = self.memory.get(name, int(content.size))
        self.context.upload(region.pointer, int(content.ctypes.data), int(content.size))
        return region

    def _element(self, typed: TypedRegion, index: int) -> float | str:
        dtype, size = typed.dtype, ITEM_BYTES[typed.dtype]
        raw = self.context.download(typed.region.pointer + index * size, size)
        raw = unsealed(raw, index * size, typed.key)
        if dtype == "bfloat16":
            raw, dtype = b"\x00\x00" + raw, "float32"
        value = struct.unpack(_UNPACK[dtype], raw)[0]
        return value if math.isfinite(value) else str(value)


def _entry(raw: bytes, name: str, output: DeviceOutput) -> dict[str, Any]:
    """A result slot of `rooftree_compare`, decoded."""
    wrong, first, nans, error, ratio = struct.unpack_from("<QQQdd", raw)
    sums = [min(value, _LARGEST) for value in struct.unpack_from(f"<{2 * REGIONS}d", raw, 40)]
    entry: dict[str, Any] = {
        "name": name,
        "dtype": output.found.dtype,
        "expected_dtype": output.expected.dtype,
        "elements": output.elements,
        "mismatches": wrong,
        "nans": nans,
        "max_error": error if math.isfinite(error) else None,
        "worst_ratio": ratio if math.isfinite(ratio) else None,
        "square_error": sums[:REGIONS],
        "square_expected": sums[REGIONS:],
    }
    if wrong:
        entry["first"] = ~first & 0xFFFFFFFFFFFFFFFF
    return entry
