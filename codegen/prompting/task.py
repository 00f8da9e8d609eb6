"""The task: what is computed, on which shapes, how exactly, and what its policy allows."""

from __future__ import annotations

from codegen.prompting.budget import Part, Section
from codegen.prompting.untrusted import fence, inline
from mcts.domain import KernelTask, Policy, TunableSpace, Work

_PRECISION = {
    "task": "judged by its error against float64, not by its instructions: as a root mean square "
    "at most 64 times, at the worst element at most 8 times (or within the tolerance) that of "
    "Model as PyTorch runs it by default, which is fp32 matrix products in full fp32, convolutions "
    "and recurrent layers in TF32, all else in the task's own dtype. So TF32 passes where PyTorch "
    "uses it; where PyTorch uses full fp32, TF32, fp16 and bf16 are off by hundreds of times and "
    "fail, and products split to keep fp32's bits (3xTF32) pass. Leave torch.backends alone",
    "tf32": "fp32 matrix products and convolutions may use TF32 inputs with fp32 accumulation; "
    "bf16 or fp16 inside of fp32 is refused",
}
_WEIGHTS = {
    "mutable": "weights change in place between calls, so nothing derived from them (transposed, "
    "packed, folded, summed) may be kept: derive it in every forward or do without",
    "frozen": "weights do not change after they were copied in, so what is derived from them may "
    "be made in the first forward and kept",
}
_LIBRARIES = {
    "allowed": "PyTorch's, cuBLAS' and cuDNN's own kernels may do parts of the work",
    "forbidden": "kernels of PyTorch, cuBLAS and cuDNN may take at most a quarter of the GPU time: "
    "the work itself must be done by your own kernels, no library fallback",
}

_SOUND = (
    "also verified on values that the problem does not draw (offset, 1e4 times as large, tiny, "
    "equal, tied, sorted, mostly zero), wherever its own model is sound for them"
)


def task_section(task: KernelTask) -> Section:
    """All there is to know of the task."""
    parts = _kernelbench(task) if task.dialect.in_pytorch else _declared(task)
    return Section(title=f"Task: {inline(task.name)}", parts=tuple(map(Part, parts)))


def _kernelbench(task: KernelTask) -> list[str]:
    lines = ["The problem file:", "", fence(task.reference or "", "python"), ""]
    lines.append(f"- an output passes where {_tolerance(task)}")
    return lines + [f"- {rule}" for rule in policy_rules(task.policy)]


def policy_rules(policy: Policy) -> list[str]:
    """What the policy allows, in words."""
    shapes = "also verified on another batch size" if policy.hidden_shapes else "these shapes only"
    rules = [
        f"precision: {_PRECISION[policy.precision]}",
        f"weights: {_WEIGHTS[policy.weights]}",
        f"libraries: {_LIBRARIES[policy.libraries]}",
        f"shapes: {shapes}",
    ]
    return rules if policy.inputs == "drawn" else [*rules, f"inputs: {_SOUND}"]


def _declared(task: KernelTask) -> list[str]:
    lines = [fence(task.summary), ""] if task.summary else []
    for buffer in task.buffers:
        extents = ", ".join(inline(extent) for extent in buffer.shape)
        name = inline(buffer.name)
        tf32 = ", may be multiplied in TF32 (float32 sums; bf16 is refused)" if buffer.tf32 else ""
        lines.append(f"- {buffer.role} `{name}`: {buffer.dtype} [{extents}], row-major{tf32}")
    for load in task.workloads:
        shape = ", ".join(f"{inline(name)} = {value}" for name, value in load.shape.items())
        timed = f"timed, weight {load.weight:g}" if load.weight else "verified only"
        lines.append(f"- workload `{inline(load.name)}` ({timed}): {shape or 'no shape'}")
    if task.reference is not None:
        lines.append(f"- an output passes where {_tolerance(task)}")
        lines += ["", "Reference (float64):", "", fence(task.reference, "python")]
    return lines + _cost_lines(task)


def _cost_lines(task: KernelTask) -> list[str]:
    """The least work, as the task declares it and in numbers where it is timed."""
    work = Work.of(task)
    if task.cost is None or work is None:
        return []
    return [
        f"\nAny implementation moves at least {inline(task.cost.bytes)} bytes and does at least "
        f"{inline(task.cost.flops)} operations ({task.cost.math}): {work.bytes:.4g} and "
        f"{work.flops:.4g} on `{inline(task.timed_workload.name)}`."
    ]


def _tolerance(task: KernelTask) -> str:
    bounds = task.tolerance
    return f"|out - ref| <= {bounds.absolute:g} + {bounds.relative:g} * |ref|"


def space_section(space: TunableSpace) -> Section:
    """The tunables with their values, constraints and, fenced, what their author says of them."""
    lines = []
    for name, tunable in space.tunables.items():
        values = ", ".join(inline(value) for value in tunable.values)
        methods = ", ".join(inline(method, longest=60) for method in tunable.methods)
        lines.append(f"- {inline(name)}: one of {values}" + (f" ({methods})" if methods else ""))
    if space.where:
        lines += ["", "Every combination must satisfy:"]
        lines += [f"- `{inline(text, longest=500)}`" for text in space.where]
    if space.rows:
        lines += ["", f"Of all combinations only {len(space.rows)} were recorded."]
    told = [f"{name}: {tunable.help}" for name, tunable in space.tunables.items() if tunable.help]
    if told:
        lines += ["", "What they do:", "", fence("\n".join(inline(line) for line in told))]
    return Section(title="Tunables", parts=tuple(map(Part, lines)))
