"""What this machine can do, asked without leaving a trace: no context, no allocation."""

from __future__ import annotations

import ctypes
import importlib
from importlib.util import find_spec

from mcts.errors import RooftreeError


def gpu_problem(device: int = 0) -> str | None:
    """Why the gpu evaluator cannot work here, as one line with what to do; None when it can."""
    from profilers.device import find_gpu

    try:
        find_gpu(device)
    except RooftreeError as error:
        return str(error)
    return None


def has_module(name: str) -> bool:
    """Whether a module could be imported, without importing its last part."""
    try:
        return find_spec(name) is not None
    except (ModuleNotFoundError, ValueError):
        return False


def gpu_names() -> tuple[str, ...]:
    """Names of the GPUs the driver shows, empty where there is no driver.

    NVML counts devices without making a context; where its Python binding is not installed the
    driver library itself is asked.
    """
    return _nvml_names() if has_module("pynvml") else _driver_names()


def _nvml_names() -> tuple[str, ...]:
    nvml = importlib.import_module("pynvml")
    try:
        nvml.nvmlInit()
    except nvml.NVMLError:
        return _driver_names()
    try:
        handles = [nvml.nvmlDeviceGetHandleByIndex(i) for i in range(nvml.nvmlDeviceGetCount())]
        return tuple(_text(nvml.nvmlDeviceGetName(handle)) for handle in handles)
    except nvml.NVMLError:
        return ()
    finally:
        nvml.nvmlShutdown()


def driver_version() -> str | None:
    """The driver's version by NVML, None where it cannot be asked."""
    if not has_module("pynvml"):
        return None
    nvml = importlib.import_module("pynvml")
    try:
        nvml.nvmlInit()
    except nvml.NVMLError:
        return None
    try:
        return _text(nvml.nvmlSystemGetDriverVersion())
    except nvml.NVMLError:
        return None
    finally:
        nvml.nvmlShutdown()


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _driver_names() -> tuple[str, ...]:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return ()
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return ()
    names = []
    for index in range(count.value):
        buffer = ctypes.create_string_buffer(256)
        device = ctypes.c_int(0)
        if driver.cuDeviceGet(ctypes.byref(device), index) == 0:
            driver.cuDeviceGetName(buffer, len(buffer), device)
            names.append(buffer.value.decode(errors="replace"))
    return tuple(names)
