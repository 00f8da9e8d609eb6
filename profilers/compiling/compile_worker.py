"""A disposable compiler: NVRTC in a separate process, because its calls cannot be interrupted.

Run as ``python -m profilers.compiling.compile_worker``. NVRTC needs no GPU to make a cubin.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import resource
import time
from pathlib import Path
from typing import Any

from profilers.children.protocol import RequestRefused
from profilers.children.serving import serve

LOG_CAP = 8192
KERNELS_CAP = 256
SOURCE_FOLDER = "/rooftree/"
"""The folder of sources in the line information. For a relative name NVRTC would record the working
directory, which changes, and equal sources would give different cubins."""

CUBIN_CAP_BYTES = 64 * 2**20
"""A kernel takes kilobytes; more than this is a table, or an attack on the disk."""

_MEMORY_CAP_BYTES = 16 * 2**30
_ENTRY = re.compile(r"\.entry\s+(?P<name>[\w$]+)\s*\((?P<parameters>[^)]*)\)")
_PARAMETER = re.compile(
    r"\.param\s+(?:\.align\s+\d+\s+)?\.(?P<type>[a-z]\d+)\b[^,\[]*(?:\[(?P<size>\d+)\])?"
)


def main() -> None:
    # A source that makes the compiler grow must not exhaust the machine's memory.
    with contextlib.suppress(ValueError, OSError):
        cap = _memory_cap()
        resource.setrlimit(resource.RLIMIT_DATA, (cap, cap))
    serve({"hello": _hello, "compile": _compile})


def _memory_cap() -> int:
    """Bytes of memory that a compiler may use: at most half of the machine's."""
    whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min(_MEMORY_CAP_BYTES, whole // 2)


def _hello(_request: dict[str, Any]) -> dict[str, Any]:
    try:
        from cuda.bindings import nvrtc

        code, major, minor = nvrtc.nvrtcVersion()
    except ImportError:
        raise RequestRefused(
            "missing", "the CUDA compiler is not installed: pip install 'rooftree[cuda]'"
        ) from None
    except RuntimeError as error:  # the binding is there, the library is not
        raise RequestRefused("missing", f"the CUDA compiler cannot be loaded: {error}") from None
    _check(code, "nvrtcVersion")
    found, lacking = _includes(major, minor)
    includes = [str(path) for path in found]
    return {"version": f"{major}.{minor}", "includes": includes, "lacking": lacking}


def _compile(request: dict[str, Any]) -> dict[str, Any]:
    """Compile `source` with `options` to the file `output`; returns the log in any case."""
    from cuda.bindings import nvrtc

    begin = time.perf_counter()
    options = [option.encode() for option in request["options"]]
    code, program = nvrtc.nvrtcCreateProgram(
        request["source"].encode(), (SOURCE_FOLDER + request["name"]).encode(), 0, [], []
    )
    _check(code, "nvrtcCreateProgram")
    (code,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    compiled = code == nvrtc.nvrtcResult.NVRTC_SUCCESS
    parameters: dict[str, list[str]] = {}
    log = _fetch(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
    cap = request.get("cubin_cap_bytes", CUBIN_CAP_BYTES)
    if compiled:
        code, size = nvrtc.nvrtcGetCUBINSize(program)
        _check(code, "nvrtcGetCUBINSize")
        if size > cap:
            nvrtc.nvrtcDestroyProgram(program)
            return _too_large(size, cap, time.perf_counter() - begin)
        cubin = _fetch(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, program)
        _write(Path(request["output"]), cubin)
        ptx = _fetch(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program)
        parameters = kernel_parameters(ptx.decode(errors="replace"))
    nvrtc.nvrtcDestroyProgram(program)
    said = log.rstrip(b"\x00").decode(errors="replace").strip()
    text = cap_log(said.replace(SOURCE_FOLDER + request["name"], request["name"]))
    return {
        "compiled": compiled,
        "log": text or ("" if compiled else code.name),
        "parameters": parameters,
        "seconds": time.perf_counter() - begin,
    }


def kernel_parameters(ptx: str) -> dict[str, list[str]]:
    """The types of each kernel's parameters, as PTX has them: ``u64`` for a pointer, ``f32``,
    ``b8[12]`` for a struct. Of at most `KERNELS_CAP` kernels.
    """
    found: dict[str, list[str]] = {}
    for entry in itertools.islice(_ENTRY.finditer(ptx), KERNELS_CAP):
        found[entry["name"]] = [
            f"{one['type']}[{one['size']}]" if one["size"] else one["type"]
            for one in _PARAMETER.finditer(entry["parameters"])
        ]
    return found


def _too_large(size: int, cap: int, seconds: float) -> dict[str, Any]:
    text = (
        f"error: the machine code takes {size / 2**20:.1f} MiB, more than {cap / 2**20:.1f} MiB; "
        "shorten tables, templates or unrolled loops"
    )
    return {"compiled": False, "log": text, "seconds": seconds}


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise RequestRefused(
            "disk", f"cannot write machine code to {path.parent}: {error}"
        ) from None


def cap_log(log: str) -> str:
    """The log, without its middle if it is longer than the cap."""
    if len(log) <= LOG_CAP:
        return log
    half = LOG_CAP // 2
    return f"{log[:half]}\n[... {len(log) - 2 * half} characters left out ...]\n{log[-half:]}"


def _fetch(size_of: Any, read: Any, program: Any) -> bytes:
    code, size = size_of(program)
    _check(code, size_of.__name__)
    content = bytes(size)  # filled in place; zeros, because tiny bytes objects are shared
    (code,) = read(program, content)
    _check(code, read.__name__)
    return content


def _check(code: Any, where: str) -> None:
    if code.value:
        raise RequestRefused("internal", f"{where} failed: {code.name}", sticky=True)


def _includes(major: int, minor: int) -> tuple[list[Path], str]:
    """Header folders of the toolkit, if it is of the compiler's release; else what is lacking."""
    wanted = f"pip install 'nvidia-cuda-runtime=={major}.{minor}.*'"
    try:
        from cuda import pathfinder

        found = pathfinder.find_nvidia_header_directory("cudart")
    except (ImportError, AttributeError, RuntimeError):
        found = None
    header = Path(found or "") / "cuda.h"
    if not found or not header.is_file():
        return [], f"CUDA's headers are not there: {wanted}"
    release = f"#define CUDA_VERSION {major * 1000 + minor * 10}"
    if release not in header.read_text(errors="replace"):
        return [], (
            f"CUDA's headers in {found} are of another release than the compiler, which is "
            f"{major}.{minor}: {wanted}"
        )
    return [path for path in (Path(found), Path(found) / "cccl") if path.is_dir()], ""


if __name__ == "__main__":
    main()
