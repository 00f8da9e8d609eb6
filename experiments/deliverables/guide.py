"""The README of an export: what each file is, and the commands to use it with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from codegen.export.header import namespace_of
from experiments.deliverables.best import Delivery
from experiments.deliverables.markdown import code, codes, plain, table
from experiments.deliverables.patching import changed_since, patched_path
from mcts.domain import Workload, kernel_macros
from mcts.errors import InputError
from profilers.compiling.lowering import lower

FILES = {
    "kernel.cu": "the kernel, its launch plan in the first comment",
    "kernel.py": "the module as the run judged it",
    "model_new.py": "a `ModelNew` that needs PyTorch alone",
    "change.patch": "the change against the source that the run began with",
    "solution.json": "a solution in FlashInfer's trace format, for its evaluators",
    "reproduce.py": "verifies and times the kernel again; `expected.json` is what it compares with",
    "why.md": "why it is faster, for a pull request",
    "run.json": "the whole run; `run.schema.json` is its JSON Schema",
}
"""The files of an export that always have the same name, with what they are."""


def guide(delivery: Delivery, files: Mapping[str, str], left_out: Mapping[str, str]) -> str:
    """The text. `files` are those of the export by name, `left_out` says why others are missing."""
    parts = [
        f"# {plain(delivery.task.name)}",
        f"{plain(delivery.found)}: node {delivery.best.id} of a run of Rooftree.",
        table(("file", "what it is"), _rows(delivery, files)),
        *_missing(left_out),
        *_tunables(delivery),
        *_launch_table(delivery),
        *_usage(delivery, files),
    ]
    return "\n\n".join(parts) + "\n"


def _rows(delivery: Delivery, files: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name in files:
        if name in FILES:
            yield code(name), FILES[name]
        elif name.endswith(".cuh"):
            launch = code(f"rooftree::{namespace_of(delivery.task.name)}::launch")
            yield code(name), f"a header for nvcc: the kernel, and {launch} that launches it"


def _missing(left_out: Mapping[str, str]) -> Iterator[str]:
    if left_out:
        yield "\n".join(
            f"- {code(name)} is not here: {plain(why)}" for name, why in left_out.items()
        )


def _tunables(delivery: Delivery) -> Iterator[str]:
    if not delivery.candidate.tunables:
        return
    macros = codes(kernel_macros(delivery.candidate.tunables))
    if delivery.kernel.settings or not delivery.kernel.dialect.declares_launches:
        yield f"Its tunables: {macros}."
    else:
        yield f"Its tunables, which the plan in `kernel.cu` has as defaults: {macros}."


def _launch_table(delivery: Delivery) -> Iterator[str]:
    """The plan in numbers, for every workload of the task."""
    if not delivery.kernel.dialect.declares_launches:
        return
    rows = [row for load in delivery.task.workloads for row in _launches(delivery, load)]
    titles = ("shape", "kernel", "grid", "block", "shared, bytes")
    yield table(titles, rows, right=titles[4:])


def _launches(delivery: Delivery, load: Workload) -> Iterator[tuple[str, ...]]:
    shape = ", ".join(f"{name} {value}" for name, value in load.shape.items())
    try:
        call = lower(delivery.task, delivery.kernel.plan, delivery.kernel.tunables, load)
    except InputError as error:
        yield code(shape), plain(str(error)), "", "", ""
        return
    for step in call.launches:
        grid, block = (" × ".join(map(str, extents)) for extents in (step.grid, step.block))
        yield code(shape), code(step.kernel or ""), grid, block, str(step.shared)


def _usage(delivery: Delivery, files: Mapping[str, str]) -> Iterator[str]:
    if "reproduce.py" in files:
        yield (
            "Verify and time it again, with `rooftree` installed on a machine with such a GPU:\n\n"
            "```bash\npython reproduce.py\n```\n\n"
            "Exit code 0: right, and as fast as reported; 1: wrong, or another speedup; 2: it "
            "could not be told."
        )
    if "change.patch" in files:
        yield (
            "Take the change over, from the top of the work tree (the patch is for "
            f"{code(patched_path(delivery) or '')}):\n\n```bash\ngit apply change.patch\n```"
        )
        if changed_since(delivery):
            yield "That file has changed since the run began: the patch may not fit any more."
