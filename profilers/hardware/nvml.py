"""The energy counter of a GPU and its limit of power, read through NVML without a CUDA context."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from mcts.errors import EnergyUnavailable


class NvmlEnergy:
    """The counter of total energy of the GPU with `uuid`, in millijoules since the driver loaded.

    A context manager that holds NVML open. Raises EnergyUnavailable if there is no counter (before
    Volta) or no NVML, or if MIG is on: the counter is that of the whole board, and the work of
    other instances would be counted as ours.
    """

    def __init__(self, uuid: str) -> None:
        try:
            import pynvml
        except ImportError:
            raise EnergyUnavailable("energy needs NVML: pip install nvidia-ml-py") from None
        self._nvml: Any = pynvml
        try:
            pynvml.nvmlInit()
        except pynvml.NVMLError as error:
            raise EnergyUnavailable(f"NVML does not answer: {error}") from None
        try:
            self._handle = pynvml.nvmlDeviceGetHandleByUUID(uuid)
            self._refuse_mig()
            self.read_mj()
        except pynvml.NVMLError as error:
            self.close()
            raise EnergyUnavailable(f"NVML does not find the GPU: {error}") from None
        except EnergyUnavailable:
            self.close()
            raise

    def read_mj(self) -> float:
        """The current value of the counter."""
        try:
            return float(self._nvml.nvmlDeviceGetTotalEnergyConsumption(self._handle))
        except self._nvml.NVMLError_NotSupported:
            raise EnergyUnavailable("this GPU has no energy counter") from None
        except self._nvml.NVMLError as error:
            raise EnergyUnavailable(f"the energy counter cannot be read: {error}") from None

    def limit_w(self) -> float | None:
        """The power that the board is held to, in watts; None if it does not say."""
        try:
            limit_mw = float(self._nvml.nvmlDeviceGetEnforcedPowerLimit(self._handle))
        except self._nvml.NVMLError:
            return None
        return limit_mw / 1e3 or None

    def close(self) -> None:
        """Shut NVML down."""
        self._nvml.nvmlShutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _refuse_mig(self) -> None:
        try:
            current, _ = self._nvml.nvmlDeviceGetMigMode(self._handle)
        except self._nvml.NVMLError_NotSupported:
            return
        if current == self._nvml.NVML_DEVICE_MIG_ENABLE:
            raise EnergyUnavailable(
                "MIG is on: the energy counter is the whole board's, other instances included"
            )
