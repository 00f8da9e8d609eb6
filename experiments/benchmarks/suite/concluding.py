"""What a finished search comes to: the best candidate, confirmed, and against torch.compile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from codegen.self_contained import self_contained
from experiments.benchmarks.suite.folder import Chosen, Plan, SuiteFolder
from experiments.benchmarks.suite.metrics import TORCH_COMPILE
from experiments.benchmarks.suite.outcome import Gain, Outcome, Spent
from experiments.runs.folders.folder import RunFolder
from experiments.runs.folders.journal import DATABASE, read_events
from experiments.runs.folders.settling import settle
from experiments.runs.options.config import RunConfig
from experiments.runs.tasks.files import TaskSource
from experiments.runs.wiring import composing
from experiments.text.spending import money_text
from experiments.views import summary
from mcts.domain import Candidate, Evaluation
from mcts.errors import InputError, JournalError, WorldError
from mcts.journal.record import NodeRecord, Result, read_result
from mcts.journal.summary import Totals, flat
from mcts.loop.progress import status_words

TRIES = 3
"""How many candidates are measured again, the fastest first, before a problem counts as failed."""

Say = Callable[[str], None]


def conclude(folder: SuiteFolder, chosen: Chosen, *, compare: bool, say: Say) -> Outcome:
    """The outcome of a problem whose search is over.

    A candidate counts as correct when it was measured again and held; the problem's own model does
    not count. `compare` measures it once more with torch.compile as the baseline; what goes wrong
    there costs that figure alone. Raises WorldError if the world broke before, InputError if
    the evaluator cannot be opened.
    """
    run = RunFolder(folder.run(chosen.key))
    config, events = run.config, read_events(run.path)
    source, result = run.task(config), read_result(events)
    outcome = Outcome(
        level=chosen.level,
        number=chosen.number,
        name=chosen.name,
        status="failed",
        hardware=summary.facts_of(events).hardware,
        stop_reason=result.stop_reason,
        spent=spent(result),
    )
    found = _confirmed(result, source, config, say)
    if isinstance(found, str):
        return outcome.model_copy(update={"message": found})
    candidate, verdict = found
    assert verdict.timing is not None
    update = {
        "status": "correct",
        "candidate_id": candidate.id,
        "eager": Gain.of(verdict.timing),
        "notes": verdict.notes,
        **_exported(folder, chosen, candidate),
        **_compared(candidate, verdict, source, config, compare=compare, say=say),
    }
    return outcome.model_copy(update=update)


def candidates(result: Result) -> list[NodeRecord]:
    """The proposed variants that were measured, each once: confirmed ones first, then by speed."""
    baseline = result.baseline.candidate
    distinct: dict[str, NodeRecord] = {}
    for node in result.nodes[1:]:
        candidate, verdict = node.candidate, node.verdict
        if candidate is None or verdict is None or not verdict.measured:
            continue
        if baseline is None or candidate.id != baseline.id:
            distinct.setdefault(candidate.id, node)
    return sorted(distinct.values(), key=lambda node: (node.confirmed is None, -_speedup(node)))


def _speedup(node: NodeRecord) -> float:
    return node.verdict.speedup or 0.0 if node.verdict else 0.0


def _confirmed(
    result: Result, source: TaskSource, config: RunConfig, say: Say
) -> tuple[Candidate, Evaluation] | str:
    """The best candidate with the measurement that confirms it, or why there is none.

    A search confirms only what is faster than the baseline; the fastest of the others is measured
    again here.
    """
    found = candidates(result)
    if not found:
        return _nothing(result)
    best = found[0]
    if best.candidate is not None and best.confirmed is not None:
        return best.candidate, best.confirmed
    say("measuring the best candidate again")
    failures = []
    with closing(composing.evaluator_of(source, config, on_progress=say)) as evaluator:
        for node in found[:TRIES]:
            assert node.candidate is not None and node.evaluation is not None
            again = evaluator.confirm(node.candidate, node.evaluation)
            if again.measured:
                return node.candidate, again
            failures.append(f"{status_words(again)}: {again.message}")
    return f"measured while searching, not when measured again: {failures[0]}"


def _nothing(result: Result) -> str:
    """``no candidate is correct: 3 wrong_result, 1 rejected``"""
    if result.evaluations == 0:
        return f"no candidate was proposed: {result.stop_reason}"
    ends = Counter(
        status_words(node.verdict) if node.verdict is not None else node.kind
        for node in result.nodes[1:]
    )
    listed = ", ".join(f"{count} {word}" for word, count in ends.most_common())
    return f"no candidate is correct: {listed}"


def _compared(
    candidate: Candidate,
    verdict: Evaluation,
    source: TaskSource,
    config: RunConfig,
    *,
    compare: bool,
    say: Say,
) -> Mapping[str, Any]:
    """The gain over torch.compile, or why there is none."""
    if not compare:
        return {"not_compiled": "not asked for"}
    say("measuring the best candidate against torch.compile")
    compiled = config.judging.model_copy(update={"baseline": "compile"})
    other = config.model_copy(update={"judging": compiled})
    try:
        with closing(composing.evaluator_of(source, other, on_progress=say)) as evaluator:
            again = evaluator.confirm(candidate, verdict)
    except InputError as error:
        return {"not_compiled": str(error)}
    except WorldError as error:
        return {"not_compiled": str(error), "unsettled": True}
    if not again.measured or again.timing is None:
        return {"not_compiled": f"{status_words(again)}: {again.message}"}
    if again.timing.baseline != TORCH_COMPILE:
        return {"not_compiled": f"evaluator {config.judging.evaluator} does not measure against it"}
    return {"compiled": Gain.of(again.timing)}


def _exported(folder: SuiteFolder, chosen: Chosen, candidate: Candidate) -> Mapping[str, Any]:
    """The kernel as a file of its own, or why it cannot stand alone."""
    try:
        return {"kernel": folder.write_kernel(chosen.key, self_contained(candidate.source))}
    except InputError as error:
        return {"message": f"not exported: {error}"}


def spent_in(run_dir: Path) -> Spent:
    """What a search has taken so far; nothing if not even its baseline was measured."""
    if not (run_dir / DATABASE).is_file():
        return Spent()
    try:
        return spent(read_result(read_events(run_dir)))
    except JournalError:
        return Spent()


def spent(result: Result) -> Spent:
    """What a search took, by its journal; money and tokens only if a model was asked."""
    totals = flat(Totals.of(result, replayed=False))
    asked_nobody = {"cost_usd", "tokens"} if totals["replies"] == 0 else set()
    known = {name: totals[name] for name in Spent.model_fields.keys() - asked_nobody}
    return Spent(**{name: value for name, value in known.items() if value is not None})


def reprice(folder: SuiteFolder, plan: Plan, prices: Sequence[str], *, say: Say) -> None:
    """Lay `prices` (``MODEL=IN,OUT``) on the replies of problems whose cost is not wholly known.

    InputError for a price that is none.
    """
    if not prices:
        return
    for chosen in plan.problems:
        outcome = folder.outcome(chosen.key)
        if outcome is None or not outcome.spent.unpriced:
            continue
        run_dir = folder.run(chosen.key)
        added = settle(run_dir, prices)
        if not added.unpriced:
            continue
        folder.keep(outcome.model_copy(update={"spent": spent_in(run_dir)}))
        many = f"{-added.unpriced} earlier repl{'y' if added.unpriced == -1 else 'ies'}"
        say(f"{chosen.name}: priced {many} at {money_text(added.cost)}")
