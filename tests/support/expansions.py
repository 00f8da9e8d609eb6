"""A recorded tree made by hand, in which every kind of reply is found."""

from __future__ import annotations

from experiments.benchmarks.expansions.tree import (
    ExpansionTree,
    Measurement,
    RecordedRun,
    Reply,
    Variant,
)
from mcts.domain import AxisGap, Candidate, Evaluation, Roofline, Verification
from mcts.search.trial import MoveKind
from tests.support.evaluations import measured

RUN = "run-1"
BASELINE = "candidate-of-somebody-else"
ROOFLINE = Roofline(
    bound="memory",
    confidence=0.9,
    gap=AxisGap(compute=0.5, memory=0.5, latency=0.5),
    near_peak=False,
    method_budget={"memory": 2},
    speed_of_light_us=10.0,
)


def candidate(name: str) -> Candidate:
    return Candidate(source=f"// {name}", methods=("memory.vectorized_loads",), rationale=name)


def variant(name: str, speedup: float | None, *, roofline: Roofline | None = None) -> Variant:
    """A variant of this speedup, or one with a wrong result."""
    code = candidate(name)
    wrong = Evaluation(
        candidate_id=code.id,
        status="wrong_result",
        message="3 of 8 elements wrong",
        verification=Verification(passed=False, rounds=1),
    )
    evaluation = wrong if speedup is None else measured(speedup, name=code.id)
    return Variant(
        id=code.id,
        candidate=code,
        measurements=(Measurement(run=RUN, evaluation=evaluation),),
        roofline=roofline,
    )


def reply(parent: str, *names: str, trial: int, move: MoveKind = "improve") -> Reply:
    """A reply below a variant by name, the baseline by ``root``."""
    return Reply(
        parent=BASELINE if parent == "root" else candidate(parent).id,
        variants=tuple(candidate(name).id for name in names),
        reason="" if names else "no code in the reply",
        run=RUN,
        trial=trial,
        ordinal=0,
        move=move,
        model="a model",
    )


def small_tree(task: str = "softmax", *, run: str = RUN) -> ExpansionTree:
    """Below the root: fast, slow, wrong and a reply without code; below fast: faster; below wrong:
    mended, by a repair.
    """
    root = Variant(
        id=BASELINE,
        candidate=Candidate(),
        from_baseline=True,
        measurements=(Measurement(run=RUN, evaluation=measured(1.0, name=BASELINE)),),
        roofline=ROOFLINE,
    )
    tree = ExpansionTree(
        task=task,
        task_id=f"task-{task}",
        dialect="kernelbench",
        hardware="NVIDIA H200",
        over="eager PyTorch",
        root=BASELINE,
        runs={
            RUN: RecordedRun(
                name="first",
                begun="2026-11-22",
                rooftree="0.1.0",
                search="puct",
                seed=1,
                parallel=2,
                evaluator="gpu",
                proposer="llm:a model",
                feedback="tools",
                replies=6,
            )
        },
        variants=(
            root,
            variant("fast", 2.0, roofline=ROOFLINE),
            variant("slow", 0.5),
            variant("wrong", None),
            variant("faster", 4.0),
            variant("mended", 3.0),
        ),
        replies=(
            reply("root", "fast", trial=1),
            reply("root", "slow", trial=2),
            reply("root", "wrong", trial=3),
            reply("root", trial=4),
            reply("fast", "faster", trial=5),
            reply("wrong", "mended", trial=6, move="repair"),
        ),
    )
    if run == RUN:
        return tree
    text = tree.model_dump_json().replace(RUN, run)
    return ExpansionTree.model_validate_json(text)
