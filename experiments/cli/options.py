"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from experiments.runs.options.request import Measuring

YEAR_MIN = 366 * 24 * 60

Task = Annotated[
    str,
    typer.Argument(
        help="A bundled task's name, a task folder, a T4 recording, or a KernelBench problem file "
        "(to optimize: with --model).",
        metavar="TASK",
    ),
]
Run = Annotated[Path, typer.Argument(help="A run folder.", metavar="RUN")]
EvaluatorOption = Annotated[
    str, typer.Option(help="Who measures: replay, gpu, spool:DIR, auto, or a plug-in's name.")
]
RecordingOption = Annotated[
    Path | None, typer.Option(help="The T4 file to replay, instead of the task's own.")
]
Device = Annotated[int, typer.Option(min=0, help="Which GPU, as CUDA counts them.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]
Evaluations = Annotated[int, typer.Option(min=1, help="How many trials, failures included.")]
Minutes = Annotated[
    float | None, typer.Option(min=0.01, max=YEAR_MIN, help="Stop after so many minutes.")
]
Policy = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        help="What a KernelBench candidate may do, as NAME=VALUE; repeatable. precision: task or "
        "tf32; weights: mutable or frozen; libraries: allowed or forbidden; hidden_shapes: true or "
        "false.",
    ),
]
Baseline = Annotated[
    str, typer.Option(help="What speedups of a KernelBench candidate are over: eager or compile.")
]
Ungated = Annotated[
    bool, typer.Option("--ungated", help="Go on with a task that fails its gate; marks results.")
]
Unsafe = Annotated[
    bool,
    typer.Option(
        "--unsafe",
        help="Run candidates even where nothing isolates them; with spool:DIR, and as a worker, "
        "also use a folder that everybody can write to.",
    ),
]

Include = Annotated[
    list[Path] | None,
    typer.Option(
        "--include",
        exists=True,
        file_okay=False,
        help="A folder of headers for .cu candidates with a launcher, such as a CUTLASS tree; "
        "repeatable. Default: that of the installed wheel nvidia-cutlass.",
    ),
]
KernelOption = Annotated[
    Path | None,
    typer.Option(
        "--kernel",
        help="Begin a KernelBench problem with this .cu with a launcher instead of its model: "
        "speedups are over it, and its tunables can be searched without a model.",
    ),
]
DialectOption = Annotated[
    str | None,
    typer.Option(
        "--dialect",
        help="What is written for a KernelBench problem: kernelbench (PyTorch, the default) or "
        "host (a .cu with a launcher).",
    ),
]


def measuring_of(
    *,
    policy: list[str] | None,
    baseline: str,
    ungated: bool,
    unsafe: bool,
    dialect: str | None = None,
    include: list[Path] | None = None,
    kernel: Path | None = None,
) -> Measuring:
    """The options of a live evaluator as one value. InputError for a bad one."""
    from experiments.runs.options.request import Measuring
    from experiments.runs.tasks.problems import read_policy
    from mcts.domain import PYTORCH_DIALECTS
    from mcts.errors import InputError

    known = next((name for name in PYTORCH_DIALECTS if name == dialect), None)
    if dialect is not None and known is None:
        raise InputError(f"--dialect {dialect!r}: kernelbench or host")
    if baseline not in ("eager", "compile"):
        raise InputError(f"--baseline {baseline!r}: eager or compile")
    return Measuring(
        policy=read_policy(policy or []),
        compiled=baseline == "compile",
        ungated=ungated,
        unsafe=unsafe,
        dialect=known,
        includes=tuple(include or ()),
        kernel=kernel,
    )
