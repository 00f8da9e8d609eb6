"""Train a model that proposes: `python -m experiments.training examples|sft|... CONFIG.toml`.

`examples` searches the recorded tasks that the file names and writes what was tried; `fresh` writes
the decoder that training begins with, to compare with; `sft`, `rft` and `grpo` train, each from
what the one before has left, or from ``--from MODEL``; `evaluate` says what the replies of a model,
``--name STAGE``, are worth on each task. All of it is written below ``-o FOLDER``;
the same command goes on with what was begun. The model of a stage is `FOLDER/STAGE/model`, the
course of its training `FOLDER/STAGE/log.jsonl`.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from experiments.training.fitting.config import STAGES, read_training
from mcts.errors import InputError, WorldError


def main(arguments: list[str] | None = None) -> int:
    """Exit codes: 0, 2 for bad input, 1 if the machine fails."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.training", description=(__doc__ or "").partition("\n\n")[2]
    )
    parser.add_argument("stage", choices=["examples", "fresh", *STAGES, "evaluate"])
    parser.add_argument("config", type=Path)
    parser.add_argument("-o", "--out", type=Path, required=True, help="the folder of the run")
    parser.add_argument("--from", dest="start", help="a model to begin with, in place of the last")
    parser.add_argument("--seed", type=int, help="in place of the file's")
    parser.add_argument("--name", default="", help="the folder of the stage, in place of its own")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args(arguments)
    try:
        if given.jobs < 1:
            raise InputError("--jobs: at least 1")
        run = read_training(given.config)
        if given.seed is not None:
            run = run.model_copy(update={"seed": given.seed})
        from experiments.training.fitting import examples, stages

        if given.stage == "examples":
            if run.examples is None:
                raise InputError(f"{given.config} has no [examples]")
            file = given.out / examples.EXAMPLES
            rows = examples.make_examples(run.examples, file, jobs=given.jobs, say=_say)
            print(f"{rows} examples: {file}")
            return 0
        if given.stage == "fresh":
            print(f"not trained: {stages.make_fresh(run, given.out)}")
            return 0
        if given.stage == "evaluate":
            from experiments.training.fitting.evaluating import evaluate, table

            place = given.out / (given.name or STAGES[-1]) / stages.MODEL
            print(*table(evaluate(run, place, say=_say)), sep="\n")
            return 0
        model = stages.fit(
            given.stage, run, given.out, start=given.start, name=given.name, say=_say
        )
        print(f"trained: {model}")
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except (WorldError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
