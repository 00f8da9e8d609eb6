"""Recorded expansions: collected out of runs, kept in a file, and searched again."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.benchmarks.expansions import file as expansions_file
from experiments.benchmarks.expansions.collecting import collect, tree_of_run
from experiments.benchmarks.expansions.file import (
    bundled_expansions,
    read_expansions,
    write_expansions,
)
from experiments.benchmarks.expansions.policy import PolicyRun, run_policy
from experiments.benchmarks.expansions.replay import (
    RecordedEvaluator,
    RecordedProposer,
    Replay,
)
from experiments.benchmarks.expansions.tree import ExpansionTree, merged
from experiments.runs.folders.folder import RunFolder
from experiments.runs.folders.journal import read_events
from experiments.runs.wiring.choosing import resolve_settings
from mcts.domain import Candidate, sealed
from mcts.errors import NoMoves
from mcts.journal.in_memory import MemoryJournal
from mcts.journal.record import Result, read_result
from mcts.loop.optimizer import Budget, Optimizer
from mcts.loop.synchronous import SynchronousExecutor
from mcts.ports import Proposal, ProposalRequest
from mcts.search.catalogue import searches
from mcts.search.trial import Move
from mcts.testing.evaluators import EvaluatorContract
from mcts.testing.proposers import ProposerContract
from microtools.advisor import RooflineAdvisor
from tests.support.commands import completed, json_of, optimized, refused, rooftree
from tests.support.expansions import candidate, reply, small_tree, variant

TASK = "row_softmax"
TRIALS = 12


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two searches of a bundled recording, by the scripted proposer."""
    folder = tmp_path_factory.mktemp("runs")
    for seed in (1, 2):
        optimized(TASK, folder / f"{seed}", "--seed", seed, "--evaluations", TRIALS)
    return folder / "1", folder / "2"


def told(run: Path) -> Result:
    return read_result(read_events(run))


# Out of runs.


def test_a_run_is_kept_with_every_reply_and_what_it_came_to(runs: tuple[Path, Path]) -> None:
    tree, result = tree_of_run(runs[0]), told(runs[0])
    assert (tree.task, tree.dialect) == (TASK, "cuda")
    assert [kept.trial for kept in tree.replies] == [node.id for node in result.nodes[1:]]
    for kept, node in zip(tree.replies, result.nodes[1:], strict=True):
        assert node.candidate is not None and node.evaluation is not None
        assert kept.variants[0] == node.candidate.id
        variant = tree.by_id[node.candidate.id]
        assert variant.evaluation is not None
        assert variant.evaluation.status == node.evaluation.status
        assert variant.speedup == node.speedup
        assert variant.candidate.tunables == node.candidate.tunables
    best = result.best.evaluation
    assert best is not None and tree.best == best.speedup


def test_the_code_of_the_baseline_is_nowhere_in_the_file(
    runs: tuple[Path, Path], tmp_path: Path
) -> None:
    write_expansions(tmp_path / "one.jsonl.gz", collect(runs[:1]))
    source = RunFolder(runs[0]).task(RunFolder(runs[0]).config).task.baseline.source
    text = gzip.decompress((tmp_path / "one.jsonl.gz").read_bytes()).decode()
    longest = max(source.splitlines(), key=len).strip()
    assert json.dumps(longest)[1:-1] not in text


def test_runs_of_a_task_become_one_tree(runs: tuple[Path, Path]) -> None:
    (tree,) = collect(runs)
    one, other = map(tree_of_run, runs)
    assert len(tree.runs) == 2
    assert tree.by_id.keys() == one.by_id.keys() | other.by_id.keys()
    assert len(tree.replies) == 2 * TRIALS
    shared = one.by_id.keys() & other.by_id.keys()
    assert tree.root in shared
    for id in shared:
        both = (*one.by_id[id].measurements, *other.by_id[id].measurements)
        assert tree.by_id[id].measurements == both
        assert tree.by_id[id].evaluation == one.by_id[id].evaluation


def test_runs_that_cannot_be_compared_are_no_tree() -> None:
    other = small_tree(run="run-2")
    assert len(merged(small_tree(), other).replies) == 12
    with pytest.raises(ValueError, match="the run first is given twice"):
        merged(small_tree(), small_tree())
    with pytest.raises(ValueError, match="differ in their hardware: NVIDIA H200 and NVIDIA T4"):
        merged(small_tree(), other.model_copy(update={"hardware": "NVIDIA T4"}))


# The file.


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "some.jsonl.gz"
    write_expansions(path, [small_tree(), small_tree("gelu")])
    return path


def test_a_file_holds_what_was_written_and_is_the_same_each_time(
    file: Path, tmp_path: Path, runs: tuple[Path, Path]
) -> None:
    assert read_expansions(file) == (small_tree(), small_tree("gelu"))
    trees = collect([file, *runs])
    for name in ("one", "other"):
        write_expansions(tmp_path / name, trees)
    assert read_expansions(tmp_path / "one") == trees
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def lines(file: Path) -> list[str]:
    return gzip.decompress(file.read_bytes()).decode().splitlines(keepends=True)


def packed(*parts: str) -> bytes:
    return gzip.compress("".join(parts).encode())


def other_header(**header: object) -> str:
    return json.dumps(sealed(header)) + "\n"


@pytest.mark.parametrize(
    ("spoilt", "why"),
    [
        (lambda file: file.read_bytes()[:-30], "the gzip data is damaged or cut short"),
        (lambda file: b"", "is not a file of recorded expansions"),
        (lambda file: b"{}\n", "is not a file of recorded expansions"),
        (lambda file: b"\xff\xfe", "is not a file of recorded expansions"),
        (lambda file: packed(*lines(file)[:-1]), "is cut short: it ends behind line 26"),
        (lambda file: packed(*lines(file), "{}\n"), "line 27: there is more than the header says"),
        (
            lambda file: packed(*[line.replace('"median_us":50.0', '"median_us":5.0')
                                  for line in lines(file)]),
            "line 4: its content was changed after it was written",
        ),
        (lambda file: packed(*lines(file)[:4], *lines(file)[5:]), "line 8"),
        (lambda file: packed(*lines(file)[:4], "[" * 100_000 + "\n"), "line 5: it is nested too"),
        (
            lambda file: packed(other_header(format=2, trees=1)),
            "was written by a newer Rooftree",
        ),
        (lambda file: packed(other_header(format=1, trees="2")), "is not a file of"),
    ],
)  # fmt: skip
def test_a_damaged_file_is_told_in_a_line(
    file: Path, spoilt: Callable[[Path], bytes], why: str
) -> None:
    file.write_bytes(spoilt(file))
    refused(rooftree("expansions", file), why)


def test_a_file_that_unpacks_without_end_is_refused(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expansions_file, "MOST_BYTES", 1 << 20)
    file.write_bytes(gzip.compress(b" " * (2 << 20)))
    refused(rooftree("expansions", file), "holds more than 1 MiB")


# Searched again.


class InOrder(RecordedProposer):
    """Draws what was drawn when it was recorded."""

    def propose(self, request: ProposalRequest) -> Proposal:
        for proposal in self._proposals.get(request.parent.id, ()):
            if proposal.candidate.id not in request.tried:
                return proposal
        raise NoMoves


@pytest.mark.parametrize("at", [0, 1])
def test_the_same_replies_bring_the_same_search_and_rewards(
    runs: tuple[Path, Path], at: int
) -> None:
    run, replay = runs[at], Replay(tree_of_run(runs[at]))
    search, reward = resolve_settings(RunFolder(run).config.search.algorithm)
    again = Optimizer(
        task=replay.task,
        proposer=InOrder(replay),
        evaluator=RecordedEvaluator(replay),
        advisor=RooflineAdvisor(()),
        journal=MemoryJournal(),
        budget=Budget(evaluations=TRIALS),
        search_settings=search,
        reward_settings=reward,
        seed=at + 1,
        finalists=0,
        executor=SynchronousExecutor(),
    ).run()
    result = told(run)
    for mine, theirs in zip(again.nodes, result.nodes, strict=True):
        assert (mine.parent, mine.reward, mine.visits) == (
            theirs.parent,
            theirs.reward,
            theirs.visits,
        )
    assert again.best.speedup == result.best.speedup


def test_every_reward_is_that_of_the_recorded_run(runs: tuple[Path, Path]) -> None:
    """Whatever the order in which they are drawn."""
    found = policy(tree_of_run(runs[0]), seed=5, trials=TRIALS)
    assert found.result.evaluations == TRIALS
    assert rewards(found.result) == rewards(told(runs[0]))
    assert found.result.best.speedup == told(runs[0]).best.speedup


def rewards(result: Result) -> dict[str, float]:
    """By the values of the tunables, which is all in which the variants differ."""
    return {
        json.dumps(node.candidate.tunables, sort_keys=True): node.reward
        for node in result.nodes
        if node.candidate is not None
    }


def policy(tree: ExpansionTree, *, seed: int, trials: int, parallel: int = 1) -> PolicyRun:
    search = searches()["puct"]()
    return run_policy(
        Replay(tree), search=search, seed=seed, budget=Budget(evaluations=trials), parallel=parallel
    )


@pytest.mark.parametrize("parallel", [1, 3])
@pytest.mark.parametrize("name", sorted(searches()))
def test_a_policy_draws_every_reply_once_and_ends(name: str, parallel: int) -> None:
    found = run_policy(
        Replay(small_tree()),
        search=searches()[name](),
        seed=3,
        budget=Budget(evaluations=50),
        parallel=parallel,
    )
    result = found.result
    drawn = [node.candidate.id for node in result.nodes if node.candidate is not None]
    assert len(drawn) == len(set(drawn))
    assert result.stop_reason == "nothing left to try"
    assert found.missing > 0
    assert found.best[-1][1] == 4.0


def test_a_reply_without_code_is_a_trial_that_failed() -> None:
    nodes = policy(small_tree(), seed=1, trials=50).result.nodes
    (rejected,) = [node for node in nodes if node.kind == "rejected"]
    assert (rejected.parent, rejected.reason) == (0, "no code in the reply")
    assert (rejected.reward, rejected.evaluation) == (0.0, None)


def test_of_a_reply_with_branches_the_best_becomes_the_node() -> None:
    tree = small_tree()
    both = tree.model_copy(update={"replies": (reply("root", "slow", "fast", trial=1),)})
    nodes = policy(both, seed=1, trials=50).result.nodes
    assert nodes[1].candidate == candidate("fast")
    assert nodes[1].branches == (candidate("slow").id,)


def test_a_variant_that_was_not_evaluated_is_not_evaluated_again() -> None:
    tree = small_tree()
    bare = tree.variants[1].model_copy(update={"measurements": ()})
    unknown = reply("root", "fast", trial=1).model_copy(update={"reason": "not recorded"})
    changed = {"variants": (tree.variants[0], bare), "replies": (unknown,)}
    (_, node) = policy(tree.model_copy(update=changed), seed=1, trials=50).result.nodes
    assert (node.kind, node.reason) == ("rejected", "not recorded")


def test_a_failed_variant_is_repaired_by_what_was_recorded_below_it() -> None:
    found = policy(small_tree(), seed=1, trials=50).result
    mended = next(n for n in found.nodes if n.candidate and n.candidate.rationale == "mended")
    parent = found.nodes[mended.parent or 0]
    assert parent.kind == "failed"


def test_a_run_is_determined_by_its_seed() -> None:
    tree = small_tree()
    one, again = (policy(tree, seed=7, trials=3) for _ in range(2))
    assert (one.best, one.missing) == (again.best, again.missing)
    assert one.result.tree_digest == again.result.tree_digest
    firsts = {policy(tree, seed=seed, trials=1).result.tree_digest for seed in range(20)}
    assert len(firsts) == 4


def test_the_best_so_far_is_told_by_trials() -> None:
    found = policy(small_tree(), seed=1, trials=50)
    trials, speedups = zip(*found.best, strict=True)
    assert list(trials) == sorted(set(trials))
    assert list(speedups) == sorted(set(speedups))
    assert found.result.evaluations == 6


class TestProposer(ProposerContract):
    @pytest.fixture
    def proposer(self) -> RecordedProposer:
        return RecordedProposer(Replay(only_code()))

    @pytest.fixture
    def request_(self) -> ProposalRequest:
        replay = Replay(only_code())
        evaluator = RecordedEvaluator(replay)
        baseline = replay.task.baseline
        evaluation = evaluator.evaluate(baseline)
        return ProposalRequest(
            task=replay.task,
            parent=baseline,
            evaluation=evaluation,
            guidance=RooflineAdvisor(()).advise(replay.task, evaluation),
            move=Move("improve", 0),
        )

    def test_an_inline_proposer_avoids_what_was_tried(
        self, proposer: RecordedProposer, request_: ProposalRequest
    ) -> None:
        """Until nothing is left."""
        tried: set[str] = set()
        for seed in range(12):
            asked = replace(request_, tried=frozenset(tried), seed=seed)
            found = proposer.propose(asked).candidate
            assert found.id not in tried
            tried.add(found.id)
        with pytest.raises(NoMoves):
            proposer.propose(replace(request_, tried=frozenset(tried)))


def only_code() -> ExpansionTree:
    """Twelve replies below the baseline, each with a variant of its own."""
    tree = small_tree()
    names = [f"v{number}" for number in range(12)]
    return tree.model_copy(
        update={
            "variants": (tree.variants[0], *(variant(name, 2.0) for name in names)),
            "replies": tuple(reply("root", name, trial=at) for at, name in enumerate(names)),
        }
    )


class TestEvaluator(EvaluatorContract):
    @pytest.fixture
    def evaluator(self) -> RecordedEvaluator:
        return RecordedEvaluator(Replay(small_tree()))

    @pytest.fixture
    def working(self) -> Candidate:
        return candidate("fast")

    @pytest.fixture
    def failing(self) -> dict[str, Candidate]:
        return {"wrong_result": candidate("wrong")}


# The command.


def test_the_command_collects_and_shows(runs: tuple[Path, Path], tmp_path: Path) -> None:
    made = tmp_path / "made.jsonl.gz"
    done = completed("expansions", *runs, "-o", made, columns=200)
    assert f"written: {made}" in done.output
    (row,) = json_of("expansions", made)
    tree = read_expansions(made)[0]
    assert row["task"] == TASK
    assert (row["runs"], row["replies"]) == (2, 2 * TRIALS)
    assert sum(row["replies_each"]) == 2 * TRIALS
    assert (row["variants"], row["best"]) == (len(tree.variants), tree.best)


def test_what_cannot_be_collected_is_refused(runs: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "made.jsonl.gz"
    refused(rooftree("expansions", *runs), "to collect runs, name the file to make")
    refused(rooftree("expansions", runs[0], runs[0], "-o", out), "the run 1 is given twice")
    refused(rooftree("expansions", tmp_path, "-o", out), "is not a run folder")
    refused(rooftree("expansions", tmp_path / "none", "-o", out), "none")
    refused(rooftree("expansions", "kernelbench_h20"), "did you mean kernelbench_h200?")
    assert not out.exists()


# What is bundled.


def test_the_bundled_file_holds_the_six_searches_and_no_problem() -> None:
    trees = read_expansions(bundled_expansions()["kernelbench_h200"])
    assert [(len(tree.replies), tree.failed) for tree in trees].count((6, 0)) == 5
    assert sorted(round(tree.best, 2) for tree in trees) == [
        2.75, 6.2, 7.02, 10.52, 24.3, 45.27
    ]  # fmt: skip
    for tree in trees:
        root = tree.by_id[tree.root]
        assert root.from_baseline and root.candidate == Candidate()
        assert tree.dialect == "kernelbench" and tree.hardware == "NVIDIA H200"
        assert not any("def get_inputs" in each.candidate.source for each in tree.variants)


def test_a_tree_that_contradicts_itself_is_refused() -> None:
    tree = small_tree()
    for changed, why in (
        ({"root": candidate("wrong").id}, "the baseline was not measured"),
        ({"variants": tree.variants[:-1]}, "a reply names the unknown variant"),
        ({"variants": (*tree.variants, tree.variants[1])}, "two variants have one id"),
    ):
        content = tree.model_copy(update=changed).model_dump()
        with pytest.raises(ValueError, match=why):
            ExpansionTree.model_validate(content)
