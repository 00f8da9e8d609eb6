"""Facts from machine code: what the compiler really made of a kernel.

Needs no GPU and no counters: `nvdisasm` prints a cubin's instructions, `cuobjdump` its registers
and memory. Both come as pip wheels.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mcts.domain import SassFacts, tagged_hash
from mcts.errors import WorldError
from profilers.toolchain import environment_with, find_tool

_TIMEOUT_S = 60.0
_SECTION = re.compile(r"^\s*\.text\.([\w$.]+):")
_FUNCTION = re.compile(r"^\s*Function\s*:?\s+([\w$.]+?):?\s*$")
_LABEL = re.compile(r"^\s*(\.L_[\w.]+|\$[\w$.]+):")
_INSTRUCTION = re.compile(r"^\s*(?:\{\s*)?/\*([0-9a-f]{4,})\*/\s+(?:\{\s*)?([^;]*?)\s*;")
_ANNOTATION = re.compile(r"\(\*.*?\*\)")
_REFERENCE = re.compile(r"`?\(?(\.L_[\w.]+|\$[\w$.]+)\)?")
_PREDICATE = re.compile(r"^@!?U?P\w+\s+")
_RESOURCE = re.compile(r"\b(REG|STACK|SHARED):(\d+)")
_BYTE_WIDTHS = {"U8": "8", "S8": "8", "U16": "16", "S16": "16", "64": "64", "128": "128",
                "256": "256"}  # fmt: skip
_MATRIX_WIDTHS = {"2": "64", "4": "128"}
_BRANCHES = frozenset({"BRA", "BRX", "BRXU", "JMP", "JMX", "JMXU"})
_JUMPS = _BRANCHES | {"BSSY", "CALL", "WARPSYNC"}
_CONVERSIONS = frozenset({"F2F", "F2I", "I2F", "F2FP", "I2FP", "I2I", "FRND", "F2IP", "I2IP"})
_COUNTED: dict[str, str] = {
    **dict.fromkeys(("LDL",), "local_loads"),
    **dict.fromkeys(("STL",), "local_stores"),
    **dict.fromkeys(("LDGSTS",), "async_copies"),
    **dict.fromkeys(("UTMALDG", "UTMASTG", "UTMAREDG", "UBLKCP", "UBLKRED"), "bulk_copies"),
    **dict.fromkeys(("FFMA", "FFMA2", "FFMA32I"), "fma_ops"),
    **dict.fromkeys(("FADD", "FADD2", "FADD32I"), "fadd_ops"),
    **dict.fromkeys(("FMUL", "FMUL2", "FMUL32I"), "fmul_ops"),
    **dict.fromkeys(("MUFU",), "special_ops"),
    **dict.fromkeys(("DADD", "DMUL", "DFMA", "DSETP", "DMNMX"), "double_ops"),
    **dict.fromkeys(_CONVERSIONS, "conversion_ops"),
    **dict.fromkeys(("ATOM", "ATOMG", "ATOMS", "RED", "REDG", "REDS"), "atomic_ops"),
    **dict.fromkeys(("BAR",), "barriers"),
    **dict.fromkeys(("SHFL",), "shuffles"),
    **dict.fromkeys(_BRANCHES, "branches"),
}
_ACCESSES: dict[str, str] = {
    "LDG": "global_loads", "LD": "global_loads", "STG": "global_stores", "ST": "global_stores",
    "LDS": "shared_loads", "LDSM": "shared_loads", "STS": "shared_stores", "STSM": "shared_stores",
}  # fmt: skip


@dataclass(slots=True)
class _Function:
    """One kernel while its text is read: instructions in order, labels by their position."""

    code: list[tuple[int, str]] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    resources: dict[str, int] = field(default_factory=dict)


def read_sass(cubin: Path) -> dict[str, SassFacts]:
    """Facts per kernel of `cubin`.

    Raises WorldError when nvdisasm is absent or cannot read the file. Without cuobjdump, registers
    and memory stay unknown.
    """
    nvdisasm = find_tool("nvdisasm")
    if nvdisasm is None:
        raise WorldError("SASS facts need nvdisasm; install nvidia-cuda-nvdisasm or a CUDA toolkit")
    text = _output(nvdisasm, "-c", str(cubin))
    cuobjdump = find_tool("cuobjdump")
    if cuobjdump is not None:
        text += _output(cuobjdump, "-res-usage", str(cubin))
    return parse_sass(text)


def _output(tool: Path, *arguments: str) -> str:
    environment = environment_with(tool, base={"PATH": os.environ.get("PATH", "")})
    try:
        done = subprocess.run(
            [str(tool), *arguments], env=environment, capture_output=True, text=True,
            errors="replace", timeout=_TIMEOUT_S, stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise WorldError(f"{tool.name} could not be run: {error}") from None
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
        raise WorldError(f"{tool.name} cannot read {arguments[-1]}: {lines[-1][:200]}")
    return done.stdout


def parse_sass(text: str) -> dict[str, SassFacts]:
    """Facts per kernel from `nvdisasm -c`, optionally followed by `cuobjdump -res-usage`.

    `cuobjdump -sass -res-usage` is read too. Padding (NOP, the closing branch to itself) is not
    counted. Pure; unknown lines are skipped.
    """
    functions = {name: found for name, found in _functions(text).items() if found.code}
    return {name: _facts(function) for name, function in functions.items()}


def _functions(text: str) -> dict[str, _Function]:
    functions: dict[str, _Function] = {}
    current: _Function | None = None
    for line in text.splitlines():
        if found := _INSTRUCTION.match(line):
            if current is not None and found.group(2):
                code = _ANNOTATION.sub("", found.group(2)).strip()
                current.code.append((int(found.group(1), 16), code))
        elif found := _SECTION.match(line) or _FUNCTION.match(line):
            current = functions.setdefault(found.group(1), _Function())
        elif current is None:
            continue
        elif found := _LABEL.match(line):
            current.labels[found.group(1)] = len(current.code)
        else:
            current.resources.update((key, int(n)) for key, n in _RESOURCE.findall(line))
    return functions


def _facts(function: _Function) -> SassFacts:
    counts: Counter[str] = Counter()
    widths: dict[str, Counter[str]] = {name: Counter() for name in set(_ACCESSES.values())}
    instructions = list(_meaningful(function))
    for code in instructions:
        opcode, *modifiers = _PREDICATE.sub("", code).split(None, 1)[0].split(".")
        if opcode in _ACCESSES:
            widths[_ACCESSES[opcode]][_width(opcode, modifiers)] += 1
        elif opcode.endswith("MMA"):
            counts["tensor_ops"] += 1
        elif opcode in _COUNTED:
            counts[_COUNTED[opcode]] += 1
    resources = function.resources
    return SassFacts(
        instructions=len(instructions),
        registers=resources.get("REG"),
        shared_bytes=resources.get("SHARED"),
        stack_bytes=resources.get("STACK"),
        code_hash=tagged_hash("sass", instructions),
        **{name: dict(sorted(found.items())) for name, found in widths.items()},
        **counts,
    )


def _meaningful(function: _Function) -> Iterator[str]:
    """The instructions less padding, jump targets as instruction numbers."""
    position = {address: index for index, (address, _) in enumerate(function.code)}
    for index, (_, code) in enumerate(function.code):
        opcode = _PREDICATE.sub("", code).split(None, 1)[0].split(".")[0]
        if opcode == "NOP":
            continue
        if opcode in _JUMPS or ".L_" in code:
            code = _resolve(code, function.labels, position)
            if opcode == "BRA" and code.endswith(f"->{index}") and not code.startswith("@"):
                continue
        yield code


def _resolve(code: str, labels: dict[str, int], position: dict[int, int]) -> str:
    def label(found: re.Match[str]) -> str:
        return f"->{labels[found.group(1)]}" if found.group(1) in labels else found.group(1)

    def address(found: re.Match[str]) -> str:
        at = position.get(int(found.group(0), 16))
        return found.group(0) if at is None else f"->{at}"

    return re.sub(r"\b0x[0-9a-f]+$", address, _REFERENCE.sub(label, code))


def _width(opcode: str, modifiers: list[str]) -> str:
    """Bits a thread moves; a matrix load's last modifier counts 8x8 tiles of 32 bits each."""
    if opcode in ("LDSM", "STSM"):
        return _MATRIX_WIDTHS.get(modifiers[-1] if modifiers else "", "32")
    return next((_BYTE_WIDTHS[part] for part in modifiers if part in _BYTE_WIDTHS), "32")
