"""Attribution of a run: the nodes to attribute, and the outcome with its cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.runs.options.config import RunConfig
from experiments.runs.tasks.files import TaskSource
from experiments.runs.wiring import composing
from experiments.text import worth as worth_text
from mcts.domain import Attribution
from mcts.errors import InputError
from mcts.journal.record import NodeRecord, Result, read_result
from mcts.journal.spending import Spending
from mcts.ports import Evaluator, Event, Journal


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """What is known of the methods of the chosen nodes: pairs of node and attribution in `found`.

    `result` is the run as it stands now. `missing` counts methods that were not reached because of
    the cap that `stopped` names. `spent` is what this session took. `priced` is the cost of earlier
    replies whose price became known now; its `unpriced` is minus their number.
    """

    found: tuple[tuple[int, Attribution], ...]
    result: Result
    missing: int
    stopped: str | None
    spent: Spending
    priced: Spending


def choose(result: Result, ids: Sequence[int]) -> tuple[NodeRecord, ...]:
    """The nodes with these ids; those on the path to the best if no id is given.

    InputError if there is no such node, or if it is the baseline or was not measured.
    """
    if not ids:
        return result.path_to(result.best)
    by_id = {node.id: node for node in result.nodes}
    for id in ids:
        node = by_id.get(id)
        if node is None:
            raise InputError(f"the run has no node {id}: its last is {result.nodes[-1].id}")
        if node.parent is None:
            raise InputError(f"node {id} is the baseline: it claims no methods")
        if node.speedup is None:
            raise InputError(f"node {id} was not measured ({node.kind}): {node.reason}")
    return tuple(by_id[id] for id in dict.fromkeys(ids))


def weigh_methods(
    source: TaskSource,
    config: RunConfig,
    *,
    evaluator: Evaluator,
    journal: Journal,
    run_dir: Path,
    ids: Sequence[int] = (),
    tunables_only: bool = False,
    say: Callable[[str], None] = lambda _text: None,
) -> Weighed:
    """Remove the methods of nodes one by one and measure, as far as the caps of the run allow.

    What the run knows already is not measured again. With `tunables_only` no proposer is asked to
    rewrite code. Raises InputError if the hardware is not the run's or a model cannot be asked, and
    WorldError if the world fails; attributions made by then are in the journal.
    """
    events = tuple(journal.events())
    before = read_result(events)
    nodes = choose(before, ids)
    _check_hardware(events, evaluator)
    claimed = sum(_claims(node) for node in nodes)
    proposer = None
    if not tunables_only and (claimed or (config.model.prices and before.spending.unpriced)):
        proposer = composing.build_proposer(
            source, config, hardware=evaluator.hardware, run_dir=run_dir
        )
    reporting = ReportingJournal(journal, say)
    with composing.released(proposer):
        attributor = composing.build_attributor(
            source, config, evaluator=evaluator, journal=reporting, proposer=proposer
        )
        missing = claimed - len(attributor.nodes(before, nodes))
    after = read_result(journal.events())
    chosen = {node.id for node in nodes}
    return Weighed(
        found=tuple(worth_text.attributed(node for node in after.nodes if node.id in chosen)),
        result=after,
        missing=missing,
        stopped=composing.budget_of(config).exhausted(after.spending) if missing else None,
        spent=after.spending - before.spending - attributor.settled,
        priced=attributor.settled,
    )


def _claims(node: NodeRecord) -> int:
    """How many methods a node claims; 0 for the baseline and what was not measured."""
    measured = node.candidate is not None and node.parent is not None and node.speedup is not None
    return len(node.candidate.methods) if measured and node.candidate else 0


def _check_hardware(events: Sequence[Event], evaluator: Evaluator) -> None:
    """Raise InputError if the run was measured on other hardware: times would not be comparable."""
    started: Mapping[str, Any] = next((e.payload for e in events if e.kind == "started"), {})
    before, now = started.get("hardware"), str(evaluator.hardware)
    if before is not None and before != now:
        raise InputError(f"the run was measured on {before}, not on {now}: attribute it there")


class ReportingJournal(Journal):
    """A journal that reports each attribution as it is written."""

    def __init__(self, journal: Journal, say: Callable[[str], None]) -> None:
        self._journal, self._say = journal, say

    def append(self, kind: str, payload: Mapping[str, Any]) -> Event:
        """Write the event, then report it."""
        event = self._journal.append(kind, payload)
        if kind == "attributed":
            attribution = Attribution.model_validate(payload["attribution"])
            self._say(worth_text.one_line(payload["node"], attribution))
        return event

    def events(self) -> Iterator[Event]:
        return self._journal.events()
