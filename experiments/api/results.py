"""What a run came to, as an object to look at, to compute with, and to show in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from codegen.plan_text import file_text
from experiments.text.changes import changes
from experiments.views import summary
from experiments.views.tree.drawing import tree_source
from experiments.views.tree.render import render
from mcts.domain import Evaluation, KernelTask, Scalar
from mcts.errors import InputError, RooftreeError
from mcts.journal import record
from mcts.journal.record import NodeRecord
from mcts.ports import Event

if TYPE_CHECKING:
    import graphviz
    import pandas


@dataclass(frozen=True, slots=True)
class Variant:
    """One variant of a run. Times are in microseconds; None where it was not measured, or failed.

    `node` has all that is known of it.
    """

    node: NodeRecord

    @property
    def evaluation(self) -> Evaluation | None:
        """The measurement that counts: the one at the end, if there was one."""
        return self.node.verdict

    @property
    def source(self) -> str:
        """Its code; empty where variants are values alone."""
        return self.node.candidate.source if self.node.candidate else ""

    @property
    def tunables(self) -> dict[str, Scalar]:
        """The values of its tunables."""
        return dict(self.node.candidate.tunables) if self.node.candidate else {}

    @property
    def time_us(self) -> float | None:
        timing = self.evaluation.timing if self.evaluation else None
        return timing.median_us if timing else None

    @property
    def speedup(self) -> float | None:
        """Over the baseline."""
        return self.evaluation.speedup if self.evaluation else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the speedup."""
        timing = self.evaluation.timing if self.evaluation else None
        return (timing.speedup_low, timing.speedup_high) if timing else None

    def __repr__(self) -> str:
        if self.speedup is None or self.time_us is None:
            return f"Variant(node {self.node.id}: {self.node.kind})"
        return f"Variant(node {self.node.id}: {self.time_us:.4g} us, {self.speedup:.2f}x)"


@dataclass(frozen=True, slots=True, repr=False)
class Result:
    """A run: its best variant, its tree, its trials.

    `record` is what the journal tells, `facts` what it began with; `folder` is where it is kept,
    None for a run in memory.
    """

    record: record.Result
    facts: summary.RunFacts
    task: KernelTask
    folder: Path | None = None

    @classmethod
    def read(cls, events: Iterable[Event], task: KernelTask, folder: Path | None = None) -> Result:
        """The run that a journal tells. InputError if its baseline was not measured yet."""
        events = tuple(events)
        return cls(summary.result_of(events), summary.facts_of(events), task, folder)

    @property
    def best(self) -> Variant:
        """The variant to hand back; the baseline if none is better."""
        return Variant(self.record.best)

    @property
    def baseline(self) -> Variant:
        return Variant(self.record.baseline)

    @property
    def variants(self) -> tuple[Variant, ...]:
        """All of them, failed ones too, in the order of their trials; the first is the baseline."""
        return tuple(map(Variant, self.record.nodes))

    @property
    def speedup(self) -> float:
        """The best variant's over the baseline."""
        return self.best.speedup or 1.0

    @property
    def evaluations(self) -> int:
        """Trials that were told, failures included."""
        return self.record.evaluations

    @property
    def stop_reason(self) -> str:
        return self.record.stop_reason

    @property
    def tree(self) -> graphviz.Digraph:
        """The picture of the tree, for Graphviz: `.source`, `.render(...)`."""
        title = f"{self.facts.task} on {self.facts.hardware}"
        return tree_source(self.record, title=title, pruned=self.facts.pruned)

    @property
    def changed(self) -> str:
        """What tells the best variant from the baseline, in words."""
        before, after = self.record.baseline.candidate, self.record.best.candidate
        assert before is not None and after is not None, "both were measured"
        return ", ".join(changes(before, after).words()) or "nothing changed"

    def kernel(self) -> str:
        """The best variant as a file that stands alone: with its values as defaults."""
        candidate = self.record.best.candidate
        assert candidate is not None, "the best was measured"
        dialect = self.task.dialect_of(candidate.source)
        return file_text(candidate) if dialect.has_plan else candidate.source

    def rows(self) -> list[dict[str, Any]]:
        """One dictionary for each variant, as `to_dataframe` has its rows."""
        return [_row(each) for each in self.variants]

    def to_dataframe(self) -> pandas.DataFrame:
        """A row for each variant, tunables as columns of their own. InputError without pandas."""
        try:
            import pandas
        except ImportError:
            raise InputError("to_dataframe needs pandas: pip install pandas") from None
        return pandas.DataFrame(self.rows())

    def __repr__(self) -> str:
        best, low_high = self.best, self.best.interval
        about = f"{self.facts.task} on {self.facts.hardware}, by {self.facts.proposer}"
        interval = f" (95 % interval {low_high[0]:.2f} to {low_high[1]:.2f})" if low_high else ""
        found = (
            f"best {best.time_us:.4g} us, {self.speedup:.2f}x over the baseline{interval}, "
            f"node {best.node.id}: {self.changed}"
            if best.time_us is not None
            else "no result"
        )
        spent = (
            f"{self.evaluations} trials, {self.record.failed} failed, {self.record.seconds:.1f} s; "
            f"stopped: {self.stop_reason}"
        )
        kept = f"; kept in {self.folder}" if self.folder is not None else ""
        return "\n".join((about, found, spent + kept))

    def _repr_html_(self) -> str:
        """For notebooks: the three lines and the tree; without a program to draw it the lines."""
        words = f"<pre>{escape(repr(self))}</pre>"
        try:
            with TemporaryDirectory(prefix="rooftree-") as folder:
                picture = Path(folder) / "tree.svg"
                render(self.tree.source, picture)
                svg = picture.read_text(encoding="utf-8")
        except RooftreeError:
            return words
        return words + svg[max(0, svg.find("<svg")) :]


def _row(variant: Variant) -> dict[str, Any]:
    node, evaluation = variant.node, variant.evaluation
    timing = evaluation.timing if evaluation else None
    known: Mapping[str, Any] = {
        "node": node.id,
        "parent": node.parent,
        "kind": node.kind,
        "status": evaluation.status if evaluation else None,
        "time_us": timing.median_us if timing else None,
        "low_us": timing.low_us if timing else None,
        "high_us": timing.high_us if timing else None,
        "speedup": timing.speedup if timing else None,
        "speedup_low": timing.speedup_low if timing else None,
        "speedup_high": timing.speedup_high if timing else None,
        "reward": node.reward,
        "methods": ", ".join(node.candidate.methods) if node.candidate else "",
        "why": node.candidate.rationale if node.candidate else node.reason,
    }
    return {**known, **variant.tunables}
