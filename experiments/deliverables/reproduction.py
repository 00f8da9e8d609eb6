"""The files from which somebody else can verify and time the best kernel again."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from experiments.deliverables.best import Delivery
from experiments.runs.tasks.files import TASK_FILE, read_task_file, read_text
from experiments.runs.tasks.problems import PROBLEM_FILE
from mcts.domain import Policy
from mcts.errors import InputError

SCRIPT = "reproduce.py"
EXPECTED = "expected.json"
TASK = "task"


def task_files(delivery: Delivery) -> dict[str, str]:
    """The task's own files by their place below the export. InputError for a task without any."""
    source = delivery.source
    if source.problem is not None:
        return {f"{TASK}/{PROBLEM_FILE}": read_text(source.problem)}
    if source.folder is None:
        raise InputError("the task is a recording: it has no files from which to measure again")
    file = read_task_file(source.folder)
    names = (TASK_FILE, file.kernel, file.reference)
    return {f"{TASK}/{name}": read_text(source.folder / name) for name in names}


def script() -> str:
    """The reproduction's script, which needs Python and the command `rooftree`."""
    return (Path(__file__).parent / SCRIPT).read_text(encoding="utf-8")


def expected(delivery: Delivery, kernel: str) -> str:
    """What the script compares with; `kernel` is the exported file's name."""
    timing = delivery.timing
    document: dict[str, Any] = {
        "task": delivery.task.name,
        "hardware": delivery.facts.hardware,
        "device": device_name(delivery.facts.hardware),
        "evaluator": delivery.facts.evaluator,
        "reported": {
            "speedup": timing.speedup,
            "speedup_low": timing.speedup_low,
            "speedup_high": timing.speedup_high,
            "over": timing.baseline,
            "time_us": timing.median_us,
            "baseline_us": timing.baseline_us,
            "confirmed": delivery.best.confirmed is not None,
        },
        "files": [TASK, kernel],
        "arguments": _arguments(delivery, kernel),
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def device_name(hardware: str) -> str:
    """The device in a run's words for its hardware, which may say that it was recorded."""
    return re.sub(r" \(recorded .*\)$", "", hardware)


def _arguments(delivery: Delivery, kernel: str) -> list[str]:
    """What `rooftree evaluate` is told: task, file, tunables, and the rules that the run had."""
    problem = delivery.source.problem is not None
    task = f"{TASK}/{PROBLEM_FILE}" if problem else TASK
    arguments = [task, kernel]
    for setting in delivery.kernel.settings if not problem else ():
        arguments += ["--set", setting]
    judging = delivery.config.judging
    if problem:
        usual = Policy().model_dump(mode="json")
        for name, value in judging.policy.model_dump(mode="json").items():
            if value != usual[name]:
                arguments += ["--policy", f"{name}={str(value).lower()}"]
        if judging.compiled:
            arguments += ["--baseline", "compile"]
    return [*arguments, "--ungated"] if judging.ungated else arguments
