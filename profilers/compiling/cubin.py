"""What a cubin says of its kernels, read from its ELF sections: no tool and no GPU is needed.

The sections' names and the attributes in ``.nv.info`` are not documented; they are those that
`cuobjdump -elf` names EIATTR_REGCOUNT and EIATTR_MAX_THREADS. What is not found stays unknown.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass

_MAGIC = b"\x7fELF\x02\x01"
_TEXT, _SHARED, _INFO = ".text.", ".nv.shared.", ".nv.info."
_SYMBOL_BYTES = 24
_SIZED = 4  # the form of an attribute whose value is behind its length
_REGISTERS, _MOST_THREADS = 0x2F, 0x05


@dataclass(frozen=True, slots=True)
class KernelNeeds:
    """What a kernel takes of a multiprocessor; None for what is not known.

    registers: of a thread. shared_bytes: of a block, static, with what CUDA reserves (1 KiB from
    sm_90 on). most_threads: that a block may have, by `__launch_bounds__`.
    """

    registers: int | None = None
    shared_bytes: int | None = None
    most_threads: int | None = None


@dataclass(frozen=True, slots=True)
class _Section:
    name: str
    content: bytes
    bytes: int


def kernel_names(cubin: bytes) -> frozenset[str]:
    """Names of the functions with machine code: its ``.text.NAME`` sections; none of what is no
    cubin.
    """
    names = (section.name for section in _read(cubin))
    return frozenset(name.removeprefix(_TEXT) for name in names if name.startswith(_TEXT))


def kernel_needs(cubin: bytes) -> dict[str, KernelNeeds]:
    """By kernel; nothing of what is no cubin."""
    try:
        return _needs(_read(cubin))
    except (struct.error, ValueError):  # another layout than the known one
        return {}


def _needs(sections: list[_Section]) -> dict[str, KernelNeeds]:
    by_name = {section.name: section for section in sections}
    registers = _registers(by_name)
    found = {}
    for name in (s.name.removeprefix(_TEXT) for s in sections if s.name.startswith(_TEXT)):
        shared = by_name.get(_SHARED + name)
        info = by_name.get(_INFO + name)
        bounds = [
            math.prod(struct.unpack_from("<III", value))
            for kind, value in _attributes(info.content if info else b"")
            if kind == _MOST_THREADS
        ]
        found[name] = KernelNeeds(
            registers=registers.get(name),
            shared_bytes=shared.bytes if shared else None,
            most_threads=bounds[0] if bounds else None,
        )
    return found


def _registers(sections: dict[str, _Section]) -> dict[str, int]:
    """By function: the attributes of the whole file name it by its symbol."""
    info, symbols, names = (sections.get(name) for name in (".nv.info", ".symtab", ".strtab"))
    if info is None or symbols is None or names is None:
        return {}
    found = {}
    for kind, value in _attributes(info.content):
        if kind == _REGISTERS:
            symbol, count = struct.unpack_from("<II", value)
            (name_at,) = struct.unpack_from("<I", symbols.content, symbol * _SYMBOL_BYTES)
            found[_text_at(names.content, name_at)] = count
    return found


def _attributes(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Kind and value of those that have one behind their length."""
    at = 0
    while at + 4 <= len(content):
        form, kind, size = struct.unpack_from("<BBH", content, at)
        at += 4
        if form == _SIZED:
            yield kind, content[at : at + size]
            at += size


def _read(cubin: bytes) -> list[_Section]:
    try:
        return list(_sections(cubin))
    except (struct.error, IndexError, ValueError):  # cut off, or no cubin
        return []


def _sections(cubin: bytes) -> Iterator[_Section]:
    if cubin[:6] != _MAGIC:
        return
    (table,) = struct.unpack_from("<Q", cubin, 40)
    entry_size, count, names_index = struct.unpack_from("<HHH", cubin, 58)
    headers = [struct.unpack_from("<IIQQQQ", cubin, table + i * entry_size) for i in range(count)]
    names = headers[names_index]
    held = cubin[names[4] : names[4] + names[5]]
    for name_at, kind, _, _, offset, size in headers:
        nothing = kind in (0, 8)  # SHT_NULL, SHT_NOBITS
        content = b"" if nothing else cubin[offset : offset + size]
        yield _Section(_text_at(held, name_at), content, size)


def _text_at(names: bytes, at: int) -> str:
    return names[at : names.index(b"\x00", at)].decode(errors="replace")
