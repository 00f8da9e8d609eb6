"""What ``ptxas -v`` says of each kernel: registers, shared memory, spilled bytes."""

from __future__ import annotations

import re

_ENTRY = re.compile(r"ptxas info {0,4}: Compiling entry function '([^']{1,8000})'")
_USED = re.compile(r"ptxas info {0,4}: Used (\d{1,4}) registers(.{0,400})")
_SHARED = re.compile(r"(\d{1,9}) bytes smem")
_STACK = re.compile(r"\s{1,8}(\d{1,9}) bytes stack frame, (\d{1,9}) bytes spill stores")
_MOST_KERNELS = 64
_PART = re.compile(r"(\d{1,4})(?=[A-Za-z_])")


def resources(log: str) -> dict[str, dict[str, int]]:
    """By mangled name: `registers`, `shared_bytes` (static), `local_bytes` (stack and spills)."""
    found: dict[str, dict[str, int]] = {}
    current: dict[str, int] | None = None
    for line in log.splitlines():
        if entry := _ENTRY.match(line):
            if len(found) >= _MOST_KERNELS:
                break
            current = found.setdefault(entry[1], {})
        elif current is not None and (stack := _STACK.match(line)):
            current["local_bytes"] = int(stack[1])
        elif current is not None and (used := _USED.match(line)):
            current["registers"] = int(used[1])
            shared = _SHARED.search(used[2])
            current["shared_bytes"] = int(shared[1]) if shared else 0
            current = None
    return {name: values for name, values in found.items() if "registers" in values}


def readable(mangled: str) -> str:
    """The names that a mangled name begins with: ``cutlass::device_kernel``."""
    at, parts = 3 if mangled.startswith("_ZN") else 2, []
    if not mangled.startswith("_Z"):
        return mangled
    while found := _PART.match(mangled, at):
        end = found.end() + int(found[1])
        parts.append(mangled[found.end() : end])
        at = end
        if end > len(mangled):
            return mangled
    return "::".join(parts) or mangled
