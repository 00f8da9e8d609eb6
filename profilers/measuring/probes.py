"""The probes of `support.cu`: the rates that this device reaches, measured in a worker.

A probe moves or computes a known amount, and its median time gives the rate. All of them together
take some hundred milliseconds.
"""

from __future__ import annotations

import ctypes
from dataclasses import asdict

from profilers.children.protocol import RequestRefused
from profilers.hardware import driver
from profilers.hardware.ceilings import Rates
from profilers.hardware.driver import PreparedLaunch
from profilers.launching.session import DeviceSession
from profilers.measuring.timing import median_event_us

_REPEATS = 15
_WARM_UP = 20
_COPY_BYTES = 1024 * 2**20
_FMA_ITERATIONS, _FMA_CHAINS = 4096, 16
_L2_SHARE = 4  # well inside L2, also where each half of it keeps its own copy
_L2_PASSES, _L2_PASS_BYTES = 128, 128
_SHARED_ITERATIONS, _SHARED_ITERATION_BYTES = 1024, 256
_BF16_ITERATIONS, _BF16_ITERATION_FLOPS = 256, 2**23


def probe(session: DeviceSession) -> dict[str, float | None]:
    """Measure the rates of the session's device."""
    try:
        bench = _Probes(session)
        bench.warm_up()
        rates = Rates(
            copy_gb_per_s=bench.copy(),
            read_gb_per_s=bench.read(),
            l2_gb_per_s=bench.l2_read(),
            shared_gb_per_s=bench.shared_read(),
            fp32_tflop_per_s=bench.fp32(),
            bf16_tflop_per_s=bench.bf16(),
            launch_us=bench.launch_us(),
        )
    finally:
        session.memory.drop("probe/")
    return asdict(rates)


class _Probes:
    """The kernels of `support.cu` that measure a rate: GB/s or TFLOP/s."""

    def __init__(self, session: DeviceSession) -> None:
        self._session = session
        self._multiprocessors = session.context.multiprocessors
        source = session.memory.get("probe/from", _COPY_BYTES)
        target = session.memory.get("probe/to", _COPY_BYTES)
        session.fill_random(source, "int32", "uniform", seed=2)
        self._source, self._target = (
            ctypes.c_uint64(region.pointer) for region in (source, target)
        )

    def warm_up(self) -> None:
        """Some milliseconds of traffic and arithmetic, so that an idle device raises its clocks."""
        for launch in (self._copy(), self._fma(), self._copy()):
            self._median_us(launch, repeats=_WARM_UP)

    def copy(self) -> float:
        return 2 * _COPY_BYTES / self._median_us(self._copy()) / 1e3

    def read(self) -> float:
        units = ctypes.c_uint64(_COPY_BYTES // 16)
        blocks = self._multiprocessors * 8
        launch = self._prepare("rooftree_flush", blocks, 256, self._source, units, self._target)
        return _COPY_BYTES / self._median_us(launch) / 1e3

    def l2_read(self) -> float | None:
        """Read bandwidth of L2, bypassing L1; None if the driver does not report its size."""
        l2_bytes = self._session.context.device.attribute(driver.L2_BYTES)
        elements = power_of_two_within(l2_bytes // _L2_SHARE // 16)
        if elements == 0:
            return None
        blocks = self._multiprocessors * 4
        launch = self._prepare(
            "rooftree_l2_read", blocks, 256,
            self._source, ctypes.c_uint32(elements), ctypes.c_int32(_L2_PASSES), self._target,
        )  # fmt: skip
        moved = blocks * 256 * _L2_PASSES * _L2_PASS_BYTES
        return moved / self._median_us(launch) / 1e3

    def shared_read(self) -> float:
        blocks = self._multiprocessors * 2
        iterations = ctypes.c_int32(_SHARED_ITERATIONS)
        launch = self._prepare("rooftree_shared_read", blocks, 256, iterations, self._target)
        moved = blocks * 256 * _SHARED_ITERATIONS * _SHARED_ITERATION_BYTES
        return moved / self._median_us(launch) / 1e3

    def fp32(self) -> float:
        operations = 2.0 * _FMA_CHAINS * _FMA_ITERATIONS * self._multiprocessors * 8 * 256
        return operations / self._median_us(self._fma()) / 1e6

    def bf16(self) -> float | None:
        """Dense rate of the tensor cores; None if `support.cu` has no probe for them."""
        blocks = self._multiprocessors * 2
        iterations = ctypes.c_int32(_BF16_ITERATIONS)
        try:
            launch = self._prepare("rooftree_bf16", blocks, 128, iterations, self._target)
        except RequestRefused:  # compiled for an architecture without one
            return None
        operations = float(blocks * _BF16_ITERATIONS * _BF16_ITERATION_FLOPS)
        return operations / self._median_us(launch) / 1e6

    def launch_us(self) -> float:
        return self._median_us(self._prepare("rooftree_empty", 1, 32), repeats=50)

    def _copy(self) -> PreparedLaunch:
        units = _COPY_BYTES // 16
        return self._prepare(
            "rooftree_copy", -(-units // 256), 256,
            self._source, self._target, ctypes.c_uint64(units),
        )  # fmt: skip

    def _fma(self) -> PreparedLaunch:
        return self._prepare(
            "rooftree_fma", self._multiprocessors * 8, 256,
            self._target, ctypes.c_float(0.999), ctypes.c_float(0.001),
            ctypes.c_int32(_FMA_ITERATIONS),
        )  # fmt: skip

    def _prepare(self, kernel: str, blocks: int, threads: int, *values: object) -> PreparedLaunch:
        return self._session.support.prepare(kernel, blocks, threads, *values)

    def _median_us(self, launch: PreparedLaunch, *, repeats: int = _REPEATS) -> float:
        return median_event_us(self._session, launch, repeats=repeats)


def power_of_two_within(limit: int) -> int:
    """The greatest power of two that is not above `limit`; 0 if there is none."""
    return 1 << (limit.bit_length() - 1) if limit > 0 else 0
