"""Configurations of a kernel, compiled side by side, and what their machine code holds."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from mcts.errors import InputError
from profilers.compiling.toolchain import environment_with, find_tool

SOURCES = Path(__file__).parent
_FLAGS = (
    "-std=c++17", "-O3", "-DNDEBUG", "--expt-relaxed-constexpr", "-diag-suppress=20012",
    "-gencode=arch=compute_90a,code=sm_90a", "-shared", "-Xcompiler=-fPIC",
)  # fmt: skip
_COMPILER_S = 400
_DISASSEMBLER_S = 60
COUNTED = ("HGMMA", "UTMALDG", "UTMASTG", "SYNCS", "USETMAXREG", "STL", "LDL")


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """One set of macros for one source in this folder; macros left out keep the source's default.

    The macros that it knows by name are those of `bf16_gemm.cu`.
    """

    source: str
    tile: tuple[int, int, int] = (128, 256, 64)
    cluster: tuple[int, int] = (2, 1)
    pingpong: bool = False
    stream_k: bool = False
    stages: int = 0
    extra: tuple[tuple[str, int], ...] = ()

    @property
    def name(self) -> str:
        """As `128x256x64 2x1 cooperative`."""
        schedule = "pingpong" if self.pingpong else "stream-K" if self.stream_k else "cooperative"
        words = ["x".join(map(str, self.tile)), "x".join(map(str, self.cluster)), schedule]
        if self.stages:
            words.append(f"{self.stages} stages")
        return " ".join(words + [f"{macro}={value}" for macro, value in self.extra])

    @property
    def macros(self) -> dict[str, int]:
        macros = dict(zip(("TILE_M", "TILE_N", "TILE_K"), self.tile, strict=True))
        macros |= dict(zip(("CLUSTER_M", "CLUSTER_N"), self.cluster, strict=True))
        macros |= {"PINGPONG": int(self.pingpong), "STAGES": self.stages}
        if self.stream_k:
            macros["STREAM_K"] = 1
        return macros | dict(self.extra)


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What became of a configuration: `library` if it compiled, else `failure` in one line.

    `opcodes` counts the machine code's instructions of the kinds in `COUNTED`; empty if no
    disassembler is at hand. `registers` is per thread, before they are handed over. `serialised`
    is whether ptxas says that each WGMMA waits for the one before.
    """

    configuration: Configuration
    seconds: float
    library: Path | None = None
    failure: str = ""
    opcodes: dict[str, int]
    registers: int = 0
    spilled_bytes: int = 0
    serialised: bool = False


def find_nvcc() -> Path:
    """nvcc, on PATH or in a toolkit; InputError if there is none."""
    found = find_tool("nvcc")
    if found is None:
        raise InputError("nvcc is not on PATH nor in CUDA_HOME: install the CUDA toolkit")
    return found


def build_all(
    configurations: Sequence[Configuration], *, include: Path, folder: Path, jobs: int
) -> Iterator[Built]:
    """Every configuration as it comes out of the compiler, `jobs` at a time.

    A compiler takes up to 3.6 GB. Libraries already in `folder` for the same name are made anew.
    """
    nvcc = find_nvcc()
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        waiting = [
            pool.submit(build, one, nvcc=nvcc, include=include, folder=folder)
            for one in configurations
        ]
        for done in as_completed(waiting):
            yield done.result()


def build(configuration: Configuration, *, nvcc: Path, include: Path, folder: Path) -> Built:
    """Compiles one configuration into a shared library and counts its instructions."""
    stem = Path(configuration.source).stem
    library = folder / f"{stem} {configuration.name}.so".replace(" ", "_").replace("=", "")
    defines = [f"-D{macro}={value}" for macro, value in configuration.macros.items()]
    command = [str(nvcc), *_FLAGS, "-Xptxas=-v", f"-I{include}", *defines, "-o", str(library),
               str(SOURCES / configuration.source)]  # fmt: skip
    begin = time.perf_counter()
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=_COMPILER_S)
    except subprocess.TimeoutExpired:
        return Built(
            configuration=configuration,
            seconds=_COMPILER_S,
            failure=f"nvcc took more than {_COMPILER_S} s",
            opcodes={},
        )
    seconds = time.perf_counter() - begin
    output = said.stdout + said.stderr
    if said.returncode != 0:
        return Built(
            configuration=configuration,
            seconds=seconds,
            failure=first_error(output),
            opcodes={},
        )
    return Built(
        configuration=configuration,
        seconds=seconds,
        library=library,
        opcodes=count_opcodes(library),
        registers=_largest(r"Used (\d+) registers", output),
        spilled_bytes=_largest(r"(\d+) bytes spill stores", output),
        serialised="instructions are serialized" in output,
    )


def first_error(output: str) -> str:
    """The first error that the compiler names, without the path before it and kept short."""
    for line in output.splitlines():
        if "error" in line.lower():
            _, _, message = line.rpartition("error")
            return message.strip(": ")[:200] or line[:200]
    lines = output.strip().splitlines()
    return lines[-1][:200] if lines else "nvcc failed without a word"


def _largest(pattern: str, text: str) -> int:
    return max((int(number) for number in re.findall(pattern, text)), default=0)


def count_opcodes(library: Path) -> dict[str, int]:
    """How often the opcodes in `COUNTED` occur in the machine code; empty if it cannot be read.

    Counts are of instructions in the code, not of executions.
    """
    cuobjdump, nvdisasm = find_tool("cuobjdump"), find_tool("nvdisasm")
    if cuobjdump is None or nvdisasm is None:
        return {}
    said = subprocess.run(
        [str(cuobjdump), "--dump-sass", str(library)],
        capture_output=True,
        text=True,
        timeout=_DISASSEMBLER_S,
        env=environment_with(cuobjdump, nvdisasm, base=os.environ),
    )
    return opcodes_in(said.stdout) if said.returncode == 0 else {}


def opcodes_in(sass: str) -> dict[str, int]:
    """Counts of the opcodes in `COUNTED` in a disassembly; modifiers are left off."""
    found = Counter(
        re.findall(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?\w+ )?([A-Z][A-Z0-9]*)", sass, re.M)
    )
    return {opcode: found[opcode] for opcode in COUNTED}
