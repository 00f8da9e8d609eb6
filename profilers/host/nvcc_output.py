"""What nvcc and its helpers (cudafe++, gcc, ptxas, ld) print: diagnostics and resource usage.

The text comes from a compiler that was given untrusted source: every search is linear and bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["error", "warning", "note"]
LONGEST_LINE = 4000
_MOST_LINES = 60
"""Lines kept of one diagnostic; an instantiation chain can have hundreds."""

_FRONT_END = re.compile(
    r"(?P<file>[^\s(:][^(:]{0,300})\((?P<line>\d{1,9})\): "
    r"(?P<kind>catastrophic error|internal error|error|warning|note|remark)"
    r"(?: #[\w-]{1,20})?: (?P<text>.*)"
)
_GCC = re.compile(
    r"(?P<file>[^\s:][^:]{0,300}):(?P<line>\d{1,9}):(?:\d{1,9}:)? "
    r"(?P<kind>fatal error|error|warning|note): (?P<text>.*)"
)
_PTXAS = re.compile(
    r"(?:ptxas|nvlink|nvcc|cicc|cudafe\+\+|fatbinary)(?: [^,;:]{1,300}, line (?P<line>\d{1,9});)? "
    r"{0,4}(?P<kind>fatal|error|warning|info|Error|Warning) {0,8}: (?P<text>.*)"
)
_LINKER = re.compile(r"[^:]{0,300}ld: (?:[^:]{0,300}: )?(?P<text>.*undefined reference to .*)")
_UNDEFINED = re.compile(r".{0,300}?(?P<text>undefined reference to .*)")
_ENDS = re.compile(
    r".{0,200}(?:out of memory|[Kk]illed|virtual memory exhausted|died due to signal"
    r"|cannot allocate|No space left|File size limit).{0,200}"
)
_SUMMARY = re.compile(r"\s*\d{1,9} (?:errors?|catastrophic errors?) detected in .*")
_CHAIN = re.compile(
    r"\s*(?:detected during )?(?:instantiation|processing|implicit) .* at line (\d{1,9})"
    r'(?: of "?(.+?)"?)?'
)
_KINDS: dict[str, Kind] = {"warning": "warning", "Warning": "warning", "info": "warning",
                           "note": "note", "remark": "note"}  # fmt: skip

_ENTRY = re.compile(r"ptxas info {0,4}: Compiling entry function '([^']{1,8000})'")
_USED = re.compile(r"ptxas info {0,4}: Used (\d{1,4}) registers(.{0,400})")
_SHARED = re.compile(r"(\d{1,9}) bytes smem")
_STACK = re.compile(r"\s{1,8}(\d{1,9}) bytes stack frame, (\d{1,9}) bytes spill stores")
_MOST_KERNELS = 64
_PART = re.compile(r"(\d{1,4})(?=[A-Za-z_])")


@dataclass(slots=True)
class Diagnostic:
    """One message with the lines below it; `file` is empty if it names none."""

    kind: Kind
    text: str
    file: str = ""
    line: int = 0
    body: list[str] = field(default_factory=list)
    notes: int = 0

    @property
    def chain(self) -> list[tuple[str, str, int]]:
        """What was being instantiated, innermost first: its name, and the place that required it.

        The front end names a file only if it differs from the message's.
        """
        steps = ((text, _CHAIN.fullmatch(text)) for text in self.body)
        return [
            (_instantiated(text), step[2] or self.file, int(step[1]))
            for text, step in steps
            if step
        ]

    @property
    def quoted(self) -> list[str]:
        """The source line that the compiler quotes, and the notes right below the message."""
        upto = next((i for i, text in enumerate(self.body) if "detected during" in text), None)
        return [text for text in self.body[:upto] if text.strip(" ^~|")]


def diagnostics(lines: Iterable[str]) -> Iterator[Diagnostic]:
    """Diagnostics in the order of printing; notes are counted with the message they explain."""
    current: Diagnostic | None = None
    noted = False
    for line in lines:
        text = line[:LONGEST_LINE].rstrip()
        found = _header(text)
        if found is None:
            if _SUMMARY.fullmatch(text):
                continue
            if current is not None and text and not noted and len(current.body) < _MOST_LINES:
                current.body.append(text)
            elif not text:
                noted = False
            elif noted and current is not None and _CHAIN.fullmatch(text):
                current.body.append(text)
            continue
        if found.kind == "note" and current is not None:
            current.notes += 1
            noted = True
            continue
        if current is not None:
            yield current
        current, noted = found, False
    if current is not None:
        yield current


def _header(text: str) -> Diagnostic | None:
    for pattern in (_FRONT_END, _GCC):
        if found := pattern.fullmatch(text):
            kind = _KINDS.get(found["kind"], "error")
            return Diagnostic(kind, found["text"], found["file"], int(found["line"]))
    if found := _PTXAS.fullmatch(text):
        tool = text.split(maxsplit=1)[0]
        return Diagnostic(_KINDS.get(found["kind"], "error"), f"{tool}: {found['text']}")
    if found := _LINKER.fullmatch(text) or _UNDEFINED.fullmatch(text):
        return Diagnostic("error", found["text"])
    if _ENDS.fullmatch(text):
        return Diagnostic("error", text.strip())
    return None


def _instantiated(text: str) -> str:
    """The name in a line such as ``instantiation of "auto f(T) [with T=int]" at line 3 of x``."""
    begin, end = text.find('"'), text.rfind('" at line')
    if begin < 0 or end <= begin:
        return text.strip()
    return text[begin + 1 : end].partition(" [with ")[0]


def resources(log: str) -> dict[str, dict[str, int]]:
    """What ``ptxas -v`` says of each kernel, by mangled name: `registers`, `shared_bytes` (static),
    `local_bytes` (stack and spills)."""
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


def readable_name(mangled: str) -> str:
    """The qualified name at the beginning of a mangled name: ``cutlass::device_kernel``."""
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
