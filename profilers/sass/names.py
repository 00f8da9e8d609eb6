"""Names of a program's kernels as profilers write them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from mcts.errors import WorldError
from profilers.compiling.toolchain import find_tool
from profilers.kernel_names import bare_name
from profilers.sass.tools import tool_lines

_DEMANGLERS = ("cu++filt", "c++filt")
_TIMEOUT_S = 60.0


def readable_names(mangled: Sequence[str]) -> dict[str, str]:
    """For each linker name the bare name; where two would get the same one, more of it.

    So ``_Z5scaleIfEvPT_`` is ``scale``, unless there is another ``scale``: then it is ``void
    scale<float>(float*)`` where a demangler is installed (cu++filt or c++filt), else it stays.
    """
    bare = {name: bare_name(name) for name in mangled}
    taken = Counter(bare.values())
    confused = [name for name in mangled if taken[bare[name]] > 1]
    full = _demangled(confused) if confused else {}
    taken_in_full = Counter(full.values())
    for name in confused:
        bare[name] = full[name] if taken_in_full[full[name]] == 1 else name
    return bare


def _demangled(names: Sequence[str]) -> dict[str, str]:
    given = "".join(f"{name}\n" for name in names)
    for tool in filter(None, map(find_tool, _DEMANGLERS)):
        try:
            lines = [line.strip() for line in tool_lines(tool, given=given, timeout_s=_TIMEOUT_S)]
        except WorldError:
            continue
        if len(lines) == len(names):
            return dict(zip(names, lines, strict=True))
    return {name: name for name in names}
