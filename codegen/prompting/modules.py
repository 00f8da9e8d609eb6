"""Which modules of a variant take its time: a large model is replaced part by part."""

from __future__ import annotations

from codegen.prompting.budget import Part, Section
from codegen.prompting.roles import Role
from codegen.prompting.untrusted import inline
from mcts.domain import ModelModule, ModuleTimes, Profile

MODULES_TITLE = "Where the time goes, by module"
MODULES = "+modules/1"
"""What the id of a prompt with this section ends with; raise the number with its words."""
_MOST = 16
_FEWEST = 3
"""A model of fewer parts is written as a whole."""
_ORDERS: dict[Role, str] = {
    "implement": "This model has many parts. Replace one at a time: choose the module, or the run "
    "of modules, in which most time can be saved, and write kernels for that alone. All others "
    "stay as `Model` has them, constructed under the same names, as weights are copied by name. "
    "Later steps replace the next.",
    "optimize": "Parts of this variant that are PyTorch's still, by what its code shows, can be "
    "replaced one at a time: the next may gain more than what is left in a kernel of its own.",
}


def modules_section(profile: Profile | None, role: Role) -> Section | None:
    """The variant's modules with their share of its time; None for other roles, and for a variant
    of hardly any modules."""
    times = profile.modules if profile is not None else None
    if times is None or role not in _ORDERS:
        return None
    parts = times.parts(most=_MOST)
    if len(parts) < _FEWEST:
        return None
    rows = [_row(times, module) for module in parts]
    head = "| module | class | inputs | output | runs a call | us | share |"
    table = "\n".join([head, "| --- | --- | --- | --- | --- | --- | --- |", *rows])
    beside = 1 - sum(map(times.share, parts))
    rest = f"All else takes {beside:.0%}. " if beside >= 0.01 else ""
    timed = (
        f"{rest}Timed one by one within calls of {times.us:.0f} us in all; a module's time holds "
        "that in which the device waits for the host."
    )
    return Section(
        title=MODULES_TITLE,
        parts=(Part("\n\n".join((table, timed, _ORDERS[role])), "steps"),),
    )


def _row(times: ModuleTimes, module: ModelModule) -> str:
    cells = (module.path, module.kind, module.inputs, module.output)
    told = " | ".join(inline(cell.replace("|", " "), longest=60) for cell in cells)
    return f"| {told} | {module.calls} | {module.us:.1f} | {times.share(module):.0%} |"
