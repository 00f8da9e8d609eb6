"""The picture in docs/training.md of what training came to, from the logs in the repository.

python -m docs.tools.training_curves    writes docs/images/training.svg; needs matplotlib
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOGS = ROOT / "experiments" / "benchmarks" / "evidence" / "training"
PICTURE = ROOT / "docs" / "images" / "training.svg"
WINDOW = 20
"""Steps that the mean runs over."""
ATTEMPTS = {
    "first": "#90a4ae", "second": "#00796b", "third": "#ef6c00", "fourth": "#5e35b1",
    "fifth": "#c2185b", "sixth": "#1565c0",
}  # fmt: skip
STUDIED = "sixth"
"""The attempt whose models the study compares."""


def course(log: Path, what: str) -> tuple[list[int], list[float]]:
    """The steps of a log and what it says of each."""
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    known = [line for line in lines if what in line]
    return [line["step"] for line in known], [line[what] for line in known]


def running_mean(values: Sequence[float], window: int = WINDOW) -> list[float]:
    """Of each value and those before it, `window` at most."""
    parts = (values[max(0, at - window + 1) : at + 1] for at in range(len(values)))
    return [sum(part) / len(part) for part in parts]


def draw(logs: Path = LOGS, picture: Path = PICTURE) -> None:
    """Write the picture, the same for the same logs."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "training"
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    for name, colour in ATTEMPTS.items():
        left.plot(*course(logs / name / "sft.jsonl", "loss"), color=colour, label=name)
    left.set(title="sft: loss of a token", xlabel="step", yscale="log")
    left.legend(frameon=False, loc="upper right", ncols=3)
    runs = zip(("grpo", "grpo-2", "grpo-3"), ("#00796b", "#ef6c00", "#5e35b1"), strict=True)
    for seed, (name, colour) in enumerate(runs, start=1):
        steps, rewards = course(logs / STUDIED / f"{name}.jsonl", "reward")
        right.plot(steps, rewards, color=colour, alpha=0.2, linewidth=0.8)
        right.plot(steps, running_mean(rewards), color=colour, label=f"seed {seed}")
    right.set(title=f"grpo of the {STUDIED}: mean reward, and over {WINDOW} steps", xlabel="step")
    right.legend(frameon=False)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(picture, metadata={"Date": None})
    pyplot.close(figure)


if __name__ == "__main__":
    draw()
    sys.exit(0)
