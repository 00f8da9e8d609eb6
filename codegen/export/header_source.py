"""Kernel source made fit for a header: internal linkage, no macros left, includes in front."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from codegen.lexemes import lexemes
from mcts.domain import Scalar, kernel_macros

_LINKAGE = re.compile(r'\bextern\s*"C"\s*(?P<block>\{)?')
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*([<\"][^>\"\n]+[>\"]).*$", re.MULTILINE)
_UNROLL = re.compile(
    r"^([ \t]*)#[ \t]*pragma[ \t]+unroll[ \t]+([^\n]*?[A-Za-z_][^\n]*?)[ \t]*(?://[^\n]*)?$", re.M
)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+([A-Za-z_]\w*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class HeaderSource:
    """The pieces of a header's kernel part, in their order.

    `before` sets the tunables' macros aside and defines them, `after` takes all macros back.
    """

    includes: tuple[str, ...]
    before: str
    kernels: str
    after: str


def header_source(source: str, tunables: Mapping[str, Scalar]) -> HeaderSource:
    """Make `source` fit to stand within an unnamed namespace of a header.

    Its kernels lose `extern "C"`, so that several translation units may include them. Includes move
    to the front, whatever conditions they stood under. nvcc expands no macro behind
    `#pragma unroll`, as NVRTC does: those pass through a macro of the header's that does.
    """
    includes = tuple(dict.fromkeys(_INCLUDE.findall(source)))
    code = _INCLUDE.sub(lambda found: f"// {found[0].strip()}: stands above", source)
    code = _UNROLL.sub(r"\1ROOFTREE_UNROLL(\2)", code)
    code = _without_linkage(code)
    values = [option.removeprefix("-D").partition("=") for option in kernel_macros(tunables)]
    own = [name for name in dict.fromkeys(_DEFINE.findall(code)) if name not in tunables]
    names = [*(name for name, _, _ in values), *own]
    set_aside = [f'#pragma push_macro("{name}")\n#undef {name}' for name in names]
    defined = [f"#define {name} {value}" for name, _, value in values]
    restored = [f'#undef {name}\n#pragma pop_macro("{name}")' for name in reversed(names)]
    body = code.strip("\n") + "\n"  # a splice in its last line must not reach the next one
    return HeaderSource(includes, "\n".join([*set_aside, *defined]), body, "\n".join(restored))


def _without_linkage(code: str) -> str:
    """Drop `extern "C"` wherever it is neither in a comment nor in a string."""
    kept, at = [], 0
    for _, start, end in lexemes(code):
        if code[start:end] != '"C"':
            kept += [_LINKAGE.sub(_opening, code[at:start]), code[start:end]]
            at = end
    return "".join([*kept, _LINKAGE.sub(_opening, code[at:])])


def _opening(found: re.Match[str]) -> str:
    return "namespace {" if found["block"] else ""
