"""`attribute`: what each method of a run's variants is worth, measured without it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from experiments.app import attributing
from experiments.app.attributing import Weighed
from experiments.app.concluding import conclude
from experiments.app.interrupting import command_line, interruptible
from experiments.app.messages import say
from experiments.runs.folders.folder import RunFolder
from experiments.runs.folders.journal import SqliteJournal, database_of
from experiments.runs.folders.recovering import rescued
from experiments.runs.options.config import RunConfig
from experiments.runs.wiring import composing
from experiments.runs.wiring.begun_hardware import as_begun
from experiments.runs.wiring.choosing import GPU
from experiments.runs.wiring.resolving import widened
from experiments.text import worth as worth_text
from experiments.text.spending import money_text, spending_text
from experiments.text.tables import Column, Kind, fitted, show, width
from experiments.views import summary
from experiments.views.claims import standing_methods
from mcts.errors import InputError, JournalError, WorldError
from mcts.journal.summary import Attributed, Spent
from mcts.options import JudgingOptions, Limits, ModelOptions

_STYLES = {"effective": "green", "implementation_failed": "red", "unknown": "dim"}
_AS: dict[str, tuple[Kind, int]] = {
    "method": ("name", 0),
    "worth": ("words", 0),
    "taken out by": ("words", 1),
    "in machine code": ("words", 2),
    "note": ("words", 3),
}
"""Kind of each column that holds no figures, and the order in which they make room."""
_COLUMNS = tuple(Column(title, *_AS.get(title, ("figure", 0))) for title in worth_text.TITLES)
_NOTE = worth_text.TITLES[-1]
_WORTH = worth_text.TITLES.index("worth")


def attribute(
    run_dir: Path,
    *,
    ids: Sequence[int],
    judging: JudgingOptions,
    limits: Limits,
    model: ModelOptions,
    tunables_only: bool,
    as_json: bool,
) -> None:
    """Attribute the methods of nodes and print the outcome; given options replace the run's own.

    Raises InputError if a node or an option is not the run's, WorldError if the world fails.
    """
    database_of(run_dir)  # raises for a folder without a run, which must not get a journal
    folder = RunFolder(run_dir)
    folder.check_journal()
    with SqliteJournal(folder.journal) as journal:
        config = widened(folder.config, limits=limits, model=model)
        attributing.choose(summary.result_of(journal.events()), ids)
        folder.write_config(config)
        weighed = _weigh(folder, _on_device(config, judging), journal, ids, tunables_only)
        gpu = summary.facts_of(journal.events())
    _print(run_dir, gpu, weighed, as_json=as_json)


def _on_device(config: RunConfig, judging: JudgingOptions) -> RunConfig:
    if not judging.given():
        return config
    evaluator = config.judging.evaluator
    if evaluator != GPU:
        raise InputError(f"--device is for evaluator gpu: this run's is {evaluator}")
    return config.model_copy(update={"judging": config.judging.changed_by(judging)})


def _weigh(
    folder: RunFolder,
    config: RunConfig,
    journal: SqliteJournal,
    ids: Sequence[int],
    tunables_only: bool,
) -> Weighed:
    again = command_line("attribute", folder.path)
    source = folder.task(config)
    with (
        rescued(journal, folder.path),
        interruptible(again),
        closing(composing.evaluator_of(source, config, on_progress=say)) as evaluator,
    ):
        say(f"taking methods out of {folder.path}, evaluator {evaluator.name}")
        try:
            weighed = attributing.weigh_methods(
                source,
                config,
                evaluator=as_begun(evaluator, journal.events()),
                journal=journal,
                run_dir=folder.path,
                ids=ids,
                tunables_only=tunables_only,
                say=say,
            )
        except JournalError:
            raise
        except WorldError as error:
            raise WorldError(f"{error}; go on with: {again}") from error
        conclude(folder, config, weighed.result, journal, gpu=evaluator.hardware.name)
    return weighed


def _print(run_dir: Path, facts: summary.RunFacts, weighed: Weighed, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(_document(run_dir, facts, weighed), ensure_ascii=False))
        return
    if weighed.found:
        _print_table(weighed)
        standing = standing_methods(weighed.result.path_to(weighed.result.best))
        if gone := {one.method for _, one in weighed.found} - set(standing):
            print(f"not in best   {', '.join(sorted(gone))}: taken back on the way to it")
    elif not weighed.missing:
        print("none of these variants claims a method: there is nothing to take out")
    spent = spending_text(weighed.spent, replayed=facts.replayed or weighed.spent.gpu_s == 0)
    print(f"spent         {spent or 'nothing'}")
    if earlier := -weighed.priced.unpriced:
        many = f"{earlier} earlier repl{'y' if earlier == 1 else 'ies'}"
        print(f"priced        {many} at {money_text(weighed.priced.cost)}")
    if weighed.missing:
        many = f"{weighed.missing} method{'' if weighed.missing == 1 else 's'}"
        print(f"not weighed   {many}: {weighed.stopped}; raise the cap to go on")
    print(f"report        {run_dir / 'report.html'}")


def _document(run_dir: Path, facts: summary.RunFacts, weighed: Weighed) -> dict[str, Any]:
    """The JSON document. Gains are shares; `spent` is what this call took, `priced` the cost of
    earlier replies whose price became known now, `run` what the run has taken in all.
    """
    return {
        "task": facts.task,
        "hardware": facts.hardware,
        "evaluator": facts.evaluator,
        "proposer": facts.proposer,
        "run_dir": str(run_dir),
        "attributions": [
            Attributed(node=node, found=found).model_dump() for node, found in weighed.found
        ],
        "not_weighed": weighed.missing,
        "stopped": weighed.stopped,
        "spent": Spent.of(weighed.spent, replayed=facts.replayed).model_dump(),
        "priced": {
            "replies": -weighed.priced.unpriced,
            "cost_usd": weighed.priced.cost_usd,
        },
        "run": Spent.of(weighed.result.spending, replayed=facts.replayed).model_dump(),
    }


def _print_table(weighed: Weighed) -> None:
    """Print the attributions; notes that a narrow terminal has no room for follow the table."""
    from rich.text import Text

    rows = [worth_text.cells(*pair) for pair in weighed.found]
    filled = [at for at in range(len(_COLUMNS)) if any(row[at] for row in rows)]
    cells = []
    for row, (_, attribution) in zip(rows, weighed.found, strict=True):
        style = _STYLES.get(attribution.worth, "")
        cells.append([Text(row[at], style=style if at == _WORTH else "") for at in filled])
    table = fitted([_COLUMNS[at] for at in filled], cells, width=width())
    show(replace(table, left_out=tuple(title for title in table.left_out if title != _NOTE)))
    if _NOTE in table.left_out:
        for row in rows:
            if row[-1]:
                print(f"node {row[0]}, {row[1]}: {row[-1]}")
