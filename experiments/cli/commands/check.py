"""`check`: a task before a GPU is asked."""

from __future__ import annotations

import json
from dataclasses import asdict

from experiments.app.checking import check_task
from experiments.app.messages import say
from experiments.cli.commands.show import print_checks
from experiments.inspect.request import check_arch
from experiments.runs.tasks.files import find_task
from mcts.errors import InputError
from mcts.text import one_line


def check(task: str, *, variants: int, arch: str, seed: int, as_json: bool) -> bool:
    """Print what was found; returns whether nothing is wrong. InputError if it cannot be read."""
    check_arch(arch)
    found = find_task(task).task
    try:
        checks = list(check_task(found, variants=variants, arch=arch, seed=seed, say=say))
    except InputError as error:
        raise InputError(f"{task}: {one_line(str(error), 400)}") from None
    good = all(one.level != "problem" for one in checks)
    if as_json:
        document = {"task": found.name, "ok": good, "checks": [asdict(one) for one in checks]}
        print(json.dumps(document, ensure_ascii=False))
    else:
        print(f"task {found.name}, dialect {found.dialect}")
        print_checks(checks)
    return good
