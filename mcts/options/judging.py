"""How candidates are judged: by whom, on what, and what they may do."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from mcts.options.option import AUTO, YEAR_MIN, Option, Options, Place
from mcts.options.policy import Policy, read_policy


def _device_list(text: str | None) -> str | None:
    """``0,1`` or ``all``. ValueError for anything else, or a device named twice."""
    if text is None or text == "all":
        return text
    numbers = text.split(",")
    if not all(number.isascii() and number.isdecimal() for number in numbers):
        raise ValueError("write the devices as 0,1 or all")
    if len(set(map(int, numbers))) < len(numbers):
        raise ValueError("a device is named twice")
    return text


class JudgingOptions(Options):
    """Who judges candidates, and by which rules.

    `evaluator` may have an argument behind a colon, as ``dask:ADDRESS``. `devices` are those of
    this machine that measure at once, in place of `device`. `worker` is the one of a cluster that
    is asked as long as it lives. `wait_minutes` is how long
    one whose GPUs are elsewhere goes on without any, None for ever. `dialect` is what is written
    for a problem file, None for PyTorch; `kernel` is a file of dialect `host` to begin with, and
    `includes` are folders of headers for such files and for the C++ of PyTorch candidates.
    `ungated`: a task that fails its gate is marked, not refused. `unsafe`: candidates run also if
    nothing isolates them. `verdict_within`: seconds after which a candidate has timed out, None for
    the judge's usual.
    """

    title: ClassVar[str] = "Judging"

    evaluator: Annotated[
        str,
        Option(
            name="--evaluator",
            help="Who measures: replay, gpu, dask:ADDRESS, auto, or a plug-in's name.",
        ),
    ] = AUTO
    recording: Annotated[
        Path | None,
        Option(name="--recording", help="The T4 file to replay, instead of the task's own."),
    ] = None
    device: Annotated[
        int,
        Field(ge=0),
        Option(
            name="--device",
            help="Which GPU, as CUDA counts them.",
            needs=("measurements",),
            lasting=False,
        ),
    ] = 0
    devices: Annotated[
        str | None,
        AfterValidator(_device_list),
        Option(
            name="--devices",
            help="Several GPUs of this machine at once: their numbers, as 0,1, or all.",
            needs=("measurements",),
            lasting=False,
        ),
    ] = None
    worker: Annotated[
        str | None,
        Option(
            name="--worker",
            help="With dask:, the address of the worker to ask as long as it lives.",
            hidden=True,
            lasting=False,
        ),
    ] = None
    wait_minutes: Annotated[
        float | None,
        Field(ge=0.01, le=YEAR_MIN),
        Option(
            name="--wait",
            help="With dask:, give up after so many minutes without a worker; default: never.",
            lasting=False,
        ),
    ] = None
    dialect: Annotated[
        str | None,
        Option(
            name="--dialect",
            help="What is written for a KernelBench problem: kernelbench (PyTorch, the default) or "
            "host (a .cu with a launcher).",
        ),
    ] = None
    kernel: Annotated[
        Path | None,
        Option(
            name="--kernel",
            help="Begin a KernelBench problem with this .cu with a launcher instead of its model: "
            "speedups are over it, and its tunables can be searched without a model.",
        ),
    ] = None
    includes: Annotated[
        tuple[Place, ...],
        Option(
            name="--include",
            help="A folder of headers for .cu candidates with a launcher, and for the C++ that "
            "PyTorch candidates compile, such as a CUTLASS tree; repeatable. Default: that of the "
            "installed wheel nvidia-cutlass.",
            folder=True,
        ),
    ] = ()
    policy: Annotated[
        Policy,
        BeforeValidator(read_policy),
        Option(
            name="--policy",
            help="What a KernelBench candidate may do, as NAME=VALUE; repeatable. precision: task "
            "or tf32; weights: mutable or frozen; libraries: allowed or forbidden; hidden_shapes: "
            "true or false; inputs: sound or drawn.",
            typed=list[str],
        ),
    ] = Policy()
    baseline: Annotated[
        Literal["eager", "compile"],
        Option(
            name="--baseline",
            help="What speedups of a KernelBench candidate are over: eager or compile.",
            needs=("measurements",),
        ),
    ] = "eager"
    ungated: Annotated[
        bool,
        Option(
            name="--ungated",
            help="Go on with a task that fails its gate; marks results.",
            needs=("measurements",),
        ),
    ] = False
    unsafe: Annotated[
        bool,
        Option(
            name="--unsafe",
            help="Run candidates even where nothing isolates them.",
            needs=("measurements",),
        ),
    ] = False

    verdict_within: Annotated[
        float | None,
        Field(gt=0, le=86_400),
        Option(
            name="--verdict-within",
            help="End a PyTorch or host candidate of which there is no verdict after so many "
            "seconds; default: 300 and ten times what judging the baseline took.",
            needs=("measurements",),
            lasting=False,
        ),
    ] = None

    @property
    def compiled(self) -> bool:
        """Whether `torch.compile` is the baseline."""
        return self.baseline == "compile"
