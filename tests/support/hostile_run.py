"""A run whose every text tries to be more than text."""

from __future__ import annotations

from dataclasses import replace

from mcts.domain import Build, Evaluation, Evidence, Finding, Guidance
from mcts.journal.record import NodeRecord, Result
from tests.support.large_run import large_result

MARKUP = (
    "</script><script>window.hacked = 1</script><!--<script> ]]> "
    '<img src=x onerror="window.hacked = 1"><svg onload=window.hacked=1> '
    "<style>*{display:none}</style> &lt;b&gt; javascript:window.hacked=1 "
)
SIGNS = "\x1b[31mred\x1b[0m\x00\x07 \u202eesrever\u202c \u2066\u2028\u2029\ufeff "
HOSTILE = MARKUP + SIGNS
MEGABYTES = 3_000_000


def hostile_result(nodes: int = 21) -> Result:
    """A small tree in which sources, logs, messages, reasons, names, advice and usage are hostile,
    and one source and one log are megabytes long."""
    result = large_result(nodes)
    return replace(result, nodes=tuple(map(_hostile, result.nodes)), stop_reason=HOSTILE)


def _hostile(node: NodeRecord) -> NodeRecord:
    assert node.candidate is not None
    long = node.id == 1
    body = "// " + "long line of text " * (MEGABYTES // 18) if long else ""
    candidate = node.candidate.model_copy(
        update={
            "source": f"// {HOSTILE}\nint x = 1; /* {MARKUP} */\n{body}",
            "methods": (f"memory.{HOSTILE}",),
            "rationale": HOSTILE,
            "tunables": {f"NAME{MARKUP}": MARKUP, "ID": node.id},
        }
    )
    return replace(
        node,
        candidate=candidate,
        evaluation=_evaluation(node.evaluation, long) if node.evaluation else None,
        guidance=_guidance(node.guidance) if node.guidance else None,
        reason=HOSTILE if node.reason else "",
        usage={**node.usage, "model": HOSTILE, "prompt": HOSTILE, "faults": [HOSTILE],
               "dropped": {HOSTILE: 1}},
    )  # fmt: skip


def _evaluation(evaluation: Evaluation, long: bool) -> Evaluation:
    log = HOSTILE * (MEGABYTES // len(HOSTILE)) if long else HOSTILE
    update: dict[str, object] = {"build": Build(log=log, registers={HOSTILE: 32})}
    if evaluation.message:
        update["message"] = log
    if evaluation.measured:
        update["notes"] = (HOSTILE,)
    return evaluation.model_copy(update=update)


def _guidance(guidance: Guidance) -> Guidance:
    finding = Finding(
        tool=HOSTILE,
        axis="memory",
        strength=0.5,
        kernel=HOSTILE,
        evidence=(Evidence(metric=HOSTILE, value=1.0, threshold=2.0, unit=MARKUP),),
        advice=HOSTILE,
        methods=(HOSTILE,),
    )
    roofline = (
        guidance.roofline.model_copy(update={"reason": HOSTILE}) if guidance.roofline else None
    )
    return Guidance(roofline=roofline, findings=(finding,), notes=(HOSTILE,))
