"""Which GPUs a command may use, and how tasks that are judged side by side get one each."""

from __future__ import annotations

from experiments.runs.machines.machine import gpu_names
from experiments.runs.options import names
from experiments.runs.wiring.choosing import CLUSTER
from mcts.errors import InputError
from mcts.options import JudgingOptions


def devices_of(wanted: str) -> list[int]:
    """The numbers that `--devices` names: ``0,1`` or ``all``. InputError for one that is absent."""
    present = range(len(gpu_names()))
    devices = list(present) if wanted == "all" else [int(number) for number in wanted.split(",")]
    if absent := [device for device in devices if device not in present]:
        raise InputError(f"--devices {wanted}: there is no GPU {absent[0]}, only {len(present)}")
    if not devices:
        raise InputError(f"--devices {wanted}: no NVIDIA GPU with a working driver was found")
    return devices


def one_gpu_each(judging: JudgingOptions) -> dict[str, JudgingOptions]:
    """The options with one GPU in place of several, by what that is called.

    They are as they were where it is one anyhow. InputError if a device or the cluster is not
    there.
    """
    if judging.devices is not None:
        return {
            f"GPU {device}": judging.model_copy(update={"device": device, "devices": None})
            for device in devices_of(judging.devices)
        }
    base, argument = names.split(judging.evaluator)
    if base == CLUSTER and argument:
        from experiments.cluster.connecting import workers_at

        workers = sorted(workers_at(argument))
        return {
            f"worker {address}": judging.model_copy(update={"worker": address})
            for address in workers
        } or {"": judging}
    return {"": judging}
