"""What this machine can do, found without a CUDA context or an allocation."""

from __future__ import annotations

import importlib
from importlib.util import find_spec

from mcts.errors import RooftreeError, WorldError


def gpu_problem(device: int = 0, *, torch: bool = False) -> str | None:
    """Why the gpu evaluator cannot work here, as one line with what to do; None when it can.

    `torch` is whether PyTorch is needed instead of our own compiler.
    """
    from profilers.hardware.device import find_gpu

    found = []
    try:
        find_gpu(device, compiler=not torch)
    except RooftreeError as error:
        found.append(str(error))
    if torch and not has_module("torch"):
        found.append(
            "PyTorch candidates need PyTorch in this environment: pip install 'rooftree[torch]'"
        )
    return "; ".join(found) or None


def has_module(name: str) -> bool:
    """Whether a module could be imported, without importing its last part."""
    try:
        return find_spec(name) is not None
    except (ModuleNotFoundError, ValueError):
        return False


def gpu_names() -> tuple[str, ...]:
    """Names of the GPUs CUDA shows, numbered as `--device` does; empty if there is no driver."""
    from profilers.hardware import driver

    try:
        return tuple(driver.DeviceQuery(index).name for index in range(driver.initialise()))
    except WorldError:
        return ()


def driver_version() -> str | None:
    """The driver's version by NVML, None if it cannot be asked."""
    if not has_module("pynvml"):
        return None
    nvml = importlib.import_module("pynvml")
    try:
        nvml.nvmlInit()
    except nvml.NVMLError:
        return None
    try:
        return str(nvml.nvmlSystemGetDriverVersion())
    except nvml.NVMLError:
        return None
    finally:
        nvml.nvmlShutdown()
