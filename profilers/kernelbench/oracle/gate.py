"""The task gate: is there work in this problem that a candidate cannot leave out?

A problem whose output is always the same, depends on no input, or differs from run to run, cannot
be judged: what scores best on it does nothing, or is right by chance. It is refused. If only a part
of the output or a single weight is affected, that is marked for the reader of results.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from profilers.kernelbench.oracle.effects import Noise, differs, paired, same_values
from profilers.kernelbench.oracle.reference import Expectation, ReferenceModel
from profilers.kernelbench.shared.problem import ProblemFault
from profilers.kernelbench.shared.trees import replaced, tensors
from profilers.kernelbench.shared.weights import Weights, is_running

_ZEROS = 0.99
_SEEDS = (0x5EED, 0xFEED)
_NAMED = 4


@dataclass(slots=True)
class GateReport:
    """`refusals` say why a problem cannot be a task, `marks` what a reader should know.

    `deterministic`: two runs give the same bits.
    """

    refusals: list[str] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)
    deterministic: bool = True

    def to_json(self) -> dict[str, Any]:
        return {
            "refusals": self.refusals,
            "marks": self.marks,
            "deterministic": self.deterministic,
        }


class TaskGate:
    """Checks a problem. `draw` returns inputs under a seed; `seconds` bounds the checks of single
    weights.
    """

    def __init__(
        self,
        reference: ReferenceModel,
        weights: Weights,
        draw: Callable[[int], list[Any]],
        *,
        seconds: float = 20.0,
    ) -> None:
        self._reference = reference
        self._weights = weights
        self._draw = draw
        self._seconds = seconds
        self._report = GateReport()
        self._noise: tuple[Noise, ...] = ()

    def report(self) -> GateReport:
        """Raises ProblemFault if the model fails."""
        first = self._draw(_SEEDS[0])
        output = self._reference.run(first)
        if not any(True for _ in tensors(output)):
            self._report.refusals.append(
                "the output holds no tensor; return what is computed as tensors"
            )
            return self._report
        if not self._check_values(output):
            return self._report
        expectation = self._reference.expect(first)
        self._noise = tuple(Noise.of(leaf) for leaf in expectation.leaves)
        self._check_precision(expectation)
        del expectation
        self._repeat(first, output)
        if not self._report.refusals:
            self._vary_everything(first, output)
        if not self._report.refusals:
            self._vary_inputs(first, output)
            self._vary_weights(first, output)
        return self._report

    def _check_values(self, output: Any) -> bool:
        shares = [_shares(tensor) for _, tensor in tensors(output)]
        if all(finite == 0 for finite, _ in shares):
            self._report.refusals.append(
                "the output is NaN or infinite everywhere; give get_inputs() values for which the "
                "model is defined"
            )
            return False
        if any(finite < 1 for finite, _ in shares):
            self._report.marks.append("parts of the output are NaN or infinite")
        if all(zeros > _ZEROS for _, zeros in shares) and any(zeros < 1 for _, zeros in shares):
            share = 100 * min(zeros for _, zeros in shares)
            self._report.marks.append(
                f"{share:.3g} % of the output are zeros: little of the work shows in it"
            )
        return True

    def _check_precision(self, expectation: Expectation) -> None:
        if expectation.oracle == "float32":
            self._report.marks.append(
                "the model does not run in float64 (fixed dtypes inside, or not enough memory): "
                "what is expected was computed in the task's own precision, and a candidate's "
                "precision is judged less sharply"
            )
        if self._reference.changes_inputs:
            self._report.marks.append(
                "the model changes its inputs in place; it gets copies, and a candidate must leave "
                "its inputs as they are"
            )

    def _repeat(self, inputs: Any, output: Any) -> None:
        """The same call again: as it is, with other random numbers, and without a reset."""
        again = self._reference.run(inputs)
        self._report.deterministic = same_values(output, again)
        if self._differ(output, again):
            self._report.refusals.append(
                "two runs on the same inputs, weights and random seed differ: the output is not "
                "determined by what a candidate gets; take what is random or uninitialised out of "
                "forward"
            )
            return
        if not self._report.deterministic:
            self._report.marks.append("the model's own output is not the same bit by bit each run")
        other = self._reference.run(inputs, seed=_SEEDS[1])
        if self._differ(output, other):
            self._report.refusals.append(
                "the output depends on random numbers drawn in forward (dropout in training "
                "mode?): no candidate can give the same; call self.eval() at the end of "
                "Model.__init__, or set the probability to 0"
            )
            return
        if not same_values(again, other) and self._report.deterministic:
            self._report.marks.append(
                "random numbers drawn in forward move the output, by no more than its own error"
            )
        with self._reference.settled():
            self._reference.run(inputs, restore=False)
            later = self._reference.run(inputs, restore=False)
        if self._differ(output, later):
            self._report.refusals.append(
                "the output depends on calls before it: the model keeps state between calls; take "
                "what it keeps as an input, or reset it in forward"
            )

    def _vary_everything(self, first: Any, output: Any) -> None:
        second = self._draw(_SEEDS[1])
        if not any(differs(a, b) for (_, a), (_, b) in paired(first, second)):
            self._report.refusals.append(
                "get_inputs() returns the same values under every seed: a stored output would be "
                "right; draw the inputs with torch.rand or torch.randn"
            )
            return
        moved = self._reference.run(second)
        if self._differ(output, moved):
            return
        names = list(self._weights.changing)
        with self._weights.changed(names, _SEEDS[1]):
            both = self._reference.run(second)
        if not self._differ(output, both):
            self._report.refusals.append(
                "the output is constant: other inputs and other weights give the same, so that "
                "returning a constant would be right; look for a step that cancels what was "
                "computed (a mean taken from itself, a clamp that catches everything, a softmax "
                "over one element)"
            )
        else:
            self._report.refusals.append(
                "the output depends on no input, only on the weights: a stored output would be "
                "right; look for a step that cancels the inputs"
            )

    def _vary_inputs(self, first: Any, output: Any) -> None:
        second = dict(tensors(self._draw(_SEEDS[1])))
        for path, tensor in tensors(first):
            if not differs(tensor, second[path]):
                self._report.marks.append(
                    f"input {path} is the same under every seed: what is computed from it alone "
                    "could be stored"
                )
                continue
            try:
                changed = self._reference.run(replaced(first, path, second[path]))
            except ProblemFault as fault:
                if fault.sticky:
                    raise
                continue  # the inputs depend on each other
            if not self._differ(output, changed):
                self._report.marks.append(
                    f"input {path} has no effect on the output: a candidate need not read it"
                )

    def _vary_weights(self, inputs: Any, output: Any) -> None:
        idle: list[str] = []
        names = list(self._weights.changing)
        tried = 0
        for name in self._in_time(names):
            with self._weights.changed([name], _SEEDS[1]):
                changed = self._reference.run(inputs)
            tried += 1
            if not self._differ(output, changed):
                idle.append(name)
        statistics = [name for name in idle if is_running(name)]
        if statistics:
            self._report.marks.append(
                f"{_listed(statistics)} have no effect on the output: the model normalises with "
                "the statistics of its batch (training mode)"
            )
        if others := [name for name in idle if name not in statistics]:
            self._report.marks.append(
                f"{_listed(others)} have no effect on the output: a candidate can leave out what "
                "they do"
            )
        if tried < len(names):
            self._report.marks.append(
                f"of {len(names)} weights, only {tried} were tried for an effect, for want of time"
            )

    def _in_time(self, names: list[str]) -> Iterator[str]:
        """The names one after another until the time is up; spread evenly over the model."""
        end = time.monotonic() + self._seconds
        step = max(1, len(names) // 16)
        for name in (name for start in range(step) for name in names[start::step]):
            if time.monotonic() > end:
                return
            yield name

    def _differ(self, first: Any, second: Any) -> bool:
        """Whether two outputs differ by more than several times the honest error."""
        pairs = paired(first, second)
        return any(
            differs(a, b, noise) for ((_, a), (_, b)), noise in zip(pairs, self._noise, strict=True)
        )


def _shares(tensor: Any) -> tuple[float, float]:
    """The shares of finite elements and of zeros; of an empty tensor, all are both."""
    count = tensor.numel()
    if not count:
        return 1.0, 1.0
    finite = zeros = 0
    for part in tensor.reshape(-1).split(2**26):
        finite += int(part.isfinite().sum())
        zeros += int((part == 0).sum())
    return finite / count, zeros / count


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:_NAMED])
    return shown if len(names) <= _NAMED else f"{shown} and {len(names) - _NAMED} more"
