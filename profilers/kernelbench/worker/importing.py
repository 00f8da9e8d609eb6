"""Imports a candidate in a jail without a GPU, so that what it compiles at import is compiled."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from profilers.children.protocol import RequestRefused
from profilers.kernelbench.worker.candidate import LoadedCandidate

_ENVIRONMENT = frozenset(
    {"TORCH_EXTENSIONS_DIR", "TORCH_CUDA_ARCH_LIST", "TRITON_CACHE_DIR", "CUDA_CACHE_PATH",
     "TORCHINDUCTOR_CACHE_DIR", "MAX_JOBS", "CUDA_HOME", "CC", "CXX", "ROOFTREE_CUBIN_CACHE",
     "ROOFTREE_CUDA_ARCH", "TVM_FFI_CACHE_DIR", "TVM_FFI_CUDA_ARCH_LIST",
     "CPATH"}
)  # fmt: skip
_NO_GPU = re.compile(
    r"no CUDA|no NVIDIA driver|cudaGetDeviceCount|CUDA driver|libcuda\.so|0 active drivers"
    r"|CUDA_ERROR_NO_DEVICE|CUDA-capable device|CUDA unknown error|not compiled with CUDA"
    r"|cuInit|no GPU|CUDA is not available",
    re.IGNORECASE,
)
_MODULE = "candidate_built"
_KEPT_BYTES = 16_384


def build(request: dict[str, Any]) -> dict[str, Any]:
    """Import the candidate's file, and no more; ``skipped`` says that this needs the GPU.

    Raises RequestRefused "compile" with the end of the log.
    """
    set_environment(request.get("environment", {}))
    begin = time.perf_counter()
    candidate = LoadedCandidate(Path(request["path"]), _MODULE)
    refused: RequestRefused | None = None
    with captured_output() as printed:
        try:
            candidate.execute()
        except RequestRefused as refusal:
            refused = refusal
    answer = {"seconds": time.perf_counter() - begin, "log": printed.text}
    if refused is None:
        return answer
    if refused.kind == "compile" and _NO_GPU.search(str(refused)):
        return {**answer, "skipped": f"it needs a GPU to be imported: {refused}"}
    raise RequestRefused(refused.kind, f"{printed.text}\n{refused}".strip())


def set_environment(environment: Mapping[str, str]) -> None:
    """Set the folders in which compilers keep their output. RequestRefused for any other name."""
    if unknown := sorted(set(environment) - _ENVIRONMENT):
        raise RequestRefused("internal", f"a candidate's environment has no {unknown[0]}")
    os.environ.update(environment)


class CapturedOutput:
    """The end of what was printed; complete once the block is left."""

    def __init__(self) -> None:
        self.data = b""

    @property
    def text(self) -> str:
        return self.data.decode(errors="replace").strip()


@contextlib.contextmanager
def captured_output() -> Iterator[CapturedOutput]:
    """Capture descriptors 1 and 2 of the process and its children inside the block."""
    printed = CapturedOutput()
    reader, writer = os.pipe()
    kept = [os.dup(1), os.dup(2)]
    _flush()
    for fd in (1, 2):
        os.dup2(writer, fd)
    os.close(writer)

    def drain() -> None:
        while part := os.read(reader, 65_536):
            printed.data = (printed.data + part)[-_KEPT_BYTES:]
        os.close(reader)

    thread = threading.Thread(target=drain, daemon=True)
    thread.start()
    try:
        yield printed
    finally:
        _flush()
        for fd, old in zip((1, 2), kept, strict=True):
            os.dup2(old, fd)
            os.close(old)
        thread.join(timeout=1.0)  # a process that is still running may hold the other end


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
