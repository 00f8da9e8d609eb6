"""Facts about a GPU that need no CUDA context."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass

from mcts.domain import Hardware
from mcts.errors import InputError, WorldError
from profilers.hardware import driver


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU: its ordinal among the `visible` ones, its identity, and its properties."""

    ordinal: int
    uuid: str
    compute_capability: tuple[int, int]
    hardware: Hardware
    visible: int = 1


def find_gpu(ordinal: int = 0, *, compiler: bool = True) -> Gpu:
    """Describe GPU `ordinal`; `compiler` is whether the extra [cuda] is needed as well.

    InputError if that is missing or there is no such GPU; WorldError if the driver does not
    answer. Either message is one line that says what to do.
    """
    try:
        count = driver.initialise()
    except driver.CudaError as error:
        if error.name == "CUDA_ERROR_NO_DEVICE":
            raise InputError(_NO_GPU) from None
        raise WorldError(f"the NVIDIA driver does not answer: {error}") from None
    except WorldError:
        raise InputError(_NO_GPU) from None
    if count == 0:
        raise InputError(_NO_GPU)
    if not 0 <= ordinal < count:
        raise InputError(f"there is no GPU {ordinal}: {count} visible, numbered from 0")
    if compiler and not _compiler_installed():
        raise InputError("the GPU evaluator needs the extra [cuda]: pip install 'rooftree[cuda]'")
    query = driver.DeviceQuery(ordinal)
    capability = (query.attribute(driver.MAJOR), query.attribute(driver.MINOR))
    uuid = query.uuid
    release, clocks = _management_facts(uuid)
    return Gpu(
        ordinal=ordinal,
        uuid=uuid,
        compute_capability=capability,
        visible=count,
        hardware=Hardware(
            name=query.name,
            compute_capability=f"{capability[0]}.{capability[1]}",
            multiprocessors=query.attribute(driver.MULTIPROCESSORS),
            l2_bytes=query.attribute(driver.L2_BYTES),
            memory_bytes=query.memory_bytes,
            driver=release,
            cuda=driver.driver_version(),
            clocks=clocks,
        ),
    )


def _compiler_installed() -> bool:
    try:
        return importlib.util.find_spec("cuda.bindings") is not None
    except ModuleNotFoundError:
        return False


_NO_GPU = (
    "no NVIDIA GPU with a working driver was found (without one, only what was recorded can be "
    "replayed)"
)


def _management_facts(uuid: str) -> tuple[str | None, str | None]:
    """Driver release and clocks as text, from NVML; None if it does not report them."""
    try:
        import pynvml
    except ImportError:
        return None, None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None, None
    release = clocks = None
    try:
        release = str(pynvml.nvmlSystemGetDriverVersion())
        handle = pynvml.nvmlDeviceGetHandleByUUID(uuid)
        parts = []
        for name, kind in (("SM", pynvml.NVML_CLOCK_SM), ("memory", pynvml.NVML_CLOCK_MEM)):
            most = pynvml.nvmlDeviceGetMaxClockInfo(handle, kind)
            parts.append(f"{name} up to {most} MHz")
        clocks = ", ".join(parts)
    except pynvml.NVMLError:
        pass
    finally:
        pynvml.nvmlShutdown()
    return release, clocks
