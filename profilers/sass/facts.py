"""Counts over one kernel's instructions, where in the source they come from, and its hash."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from mcts.domain import SassFacts, tagged_hash
from mcts.domain.profile import InstructionKind
from profilers.sass.flow import JUMPS, Targets, control_flow, is_conditional
from profilers.sass.listing import Function, Instruction
from profilers.sass.loops import find_loops
from profilers.sass.opcodes import ACCESS_FIELDS
from profilers.sass.wgmma import is_wgmma, serial_wgmma

MOST_LINES = 12
"""Source lines kept per count: those with the most instructions."""

_PLACED = frozenset(
    {
        "local_loads", "local_stores", "double_ops", "special_ops", "conversion_ops", "atomic_ops",
        "barriers", "async_copies", "bulk_copies", "tensor_ops", "branches", "shuffles",
        "fadd_ops", "fmul_ops", "integer_ops", "wide_fences", *ACCESS_FIELDS,
    }
)  # fmt: skip
"""Counts whose source lines are kept; those of accesses are kept by width."""

_NAMES_A_PLACE = JUMPS | {"BSSY", "WARPSYNC"}
_NEVER = frozenset({"@!PT", "@!UPT"})


def facts_of(function: Function) -> SassFacts:
    """The facts of a kernel, including the subroutines in its section, without padding."""
    targets = Targets(function)
    code = [
        (at, instruction)
        for at, instruction in enumerate(function.instructions)
        if not _is_padding(at, instruction, targets)
    ]
    flow = control_flow(function)
    serial = serial_wgmma(function.instructions, flow)
    source = SourceLines(function.instructions)
    counts: Counter[str] = Counter()
    widths: dict[str, Counter[str]] = {name: Counter() for name in ACCESS_FIELDS}
    mix: Counter[InstructionKind] = Counter()
    places: dict[str, Counter[int]] = defaultdict(Counter)
    opcodes: set[str] = set()
    for at, instruction in code:
        operation = instruction.operation
        if instruction.guard in _NEVER:
            mix["other"] += 1
            continue
        mix[operation.kind] += 1
        opcodes.add(_opcode_name(instruction))
        counts["predicated"] += _is_predicated(instruction)
        counts["wgmma_ops"] += is_wgmma(instruction)
        if operation.width:
            widths[operation.field][operation.width] += 1
        elif operation.field:
            counts[operation.field] += 1
        if operation.field in _PLACED and (line := source.line_of(instruction)) is not None:
            places[operation.key][line] += 1
            if at in serial:
                places["serial_wgmma_ops"][line] += 1
    return SassFacts(
        instructions=len(code),
        **_resources(function.resources),
        **{name: dict(sorted(found.items())) for name, found in widths.items()},
        **counts,
        serial_wgmma_ops=len(serial),
        mix=dict(sorted(mix.items())),
        loops=find_loops(function.instructions, flow, source.line_of),
        lines={key: _most_frequent(found) for key, found in sorted(places.items())},
        opcodes=tuple(sorted(opcodes)),
        code_hash=tagged_hash("sass", [_normalised(one, targets) for _, one in code]),
    )


def with_resources(facts: SassFacts, resources: Mapping[str, int]) -> SassFacts:
    """`facts` with the resources that `cuobjdump -res-usage` prints for the kernel."""
    return facts.model_copy(update=_resources(resources))


def _resources(resources: Mapping[str, int]) -> dict[str, int]:
    names = {"REG": "registers", "SHARED": "shared_bytes", "STACK": "stack_bytes"}
    return {names[key]: count for key, count in resources.items() if key in names}


class SourceLines:
    """The line of the user's file that an instruction comes from.

    The user's file is the one with the kernel in it: the outermost place of most instructions. For
    inlined code the innermost place in that file counts, so that a library's function shows as the
    line that calls it.
    """

    def __init__(self, code: Sequence[Instruction]) -> None:
        files = Counter(instruction.places[-1][0] for instruction in code if instruction.places)
        self.file = files.most_common(1)[0][0] if files else None

    def line_of(self, instruction: Instruction) -> int | None:
        """The line, from 1; None if the instruction has none in the file."""
        for file, line in instruction.places:
            if file == self.file and line > 0:
                return line
        return None


def _opcode_name(instruction: Instruction) -> str:
    """The opcode with modifiers; MOV or F2F for arithmetic that only moves or widens a value."""
    operation = instruction.operation
    if operation.kind == "conversion" and instruction.opcode == operation.opcode == "HADD2":
        return "F2F"
    return instruction.mnemonic if operation.opcode == instruction.opcode else operation.opcode


def _most_frequent(lines: Counter[int]) -> tuple[int, ...]:
    ranked = sorted(lines, key=lambda line: (-lines[line], line))
    return tuple(sorted(ranked[:MOST_LINES]))


def _is_padding(at: int, instruction: Instruction, targets: Targets) -> bool:
    if instruction.opcode == "NOP":
        return True
    if instruction.opcode != "BRA" or is_conditional(instruction):
        return False
    return targets.of(instruction) == [at]


def _is_predicated(instruction: Instruction) -> bool:
    """Whether lanes may be masked off by a predicate; a conditional branch does not count."""
    guard = instruction.guard
    return (
        bool(guard)
        and guard.lstrip("@!").startswith("P")
        and guard != "@PT"
        and (instruction.operation.kind != "control")
    )


def _normalised(instruction: Instruction, targets: Targets) -> str:
    if instruction.opcode in _NAMES_A_PLACE or ".L_" in instruction.text:
        return targets.resolved(instruction)
    return instruction.text
