"""What every Proposer must do. Subclass, say what it is and what it is asked, and run pytest."""

from __future__ import annotations

import dataclasses
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from mcts.domain import Candidate, TunableSpace
from mcts.errors import NoMoves
from mcts.ports import Proposal, ProposalRequest, Proposer
from mcts.search.trial import Move, MoveKind


class ProposerContract:
    """Override `proposer` and `request_`; `exhausts` where it knows when all was tried."""

    exhausts = False
    most_moves = 1000

    @pytest.fixture
    def proposer(self) -> Proposer:
        raise NotImplementedError("override the fixture proposer of ProposerContract")

    @pytest.fixture
    def request_(self) -> ProposalRequest:
        """A request from a parent from which something is left to propose."""
        raise NotImplementedError("override the fixture request_ of ProposerContract")

    def test_it_is_a_proposer_with_a_name(self, proposer: Proposer) -> None:
        assert isinstance(proposer, Proposer)
        assert proposer.name
        assert isinstance(proposer.inline, bool)

    def test_a_proposal_is_a_candidate_that_the_task_allows(
        self, proposer: Proposer, request_: ProposalRequest
    ) -> None:
        _check(proposer.propose(request_), request_)

    def test_a_proposal_survives_the_journal(
        self, proposer: Proposer, request_: ProposalRequest
    ) -> None:
        proposal = proposer.propose(request_)
        assert json.loads(json.dumps(dict(proposal.usage))) == dict(proposal.usage)
        restored = type(proposal.candidate).model_validate_json(
            proposal.candidate.model_dump_json()
        )
        assert restored == proposal.candidate and restored.id == proposal.candidate.id

    @pytest.mark.parametrize("kind", ["improve", "diversify"])
    def test_every_move_on_what_works_is_answered(
        self, proposer: Proposer, request_: ProposalRequest, kind: MoveKind
    ) -> None:
        move = Move(kind, len(request_.siblings))
        _check(proposer.propose(dataclasses.replace(request_, move=move)), request_)

    def test_a_price_is_in_dollars_or_unknown(
        self, proposer: Proposer, request_: ProposalRequest
    ) -> None:
        usage = proposer.propose(request_).usage
        price = proposer.price({**usage, "cost_usd": None})
        assert price is None or price >= 0

    def test_the_request_is_not_changed(
        self, proposer: Proposer, request_: ProposalRequest
    ) -> None:
        before = dataclasses.replace(request_)
        snapshot = request_.task.model_dump_json(), request_.parent.model_dump_json()
        proposer.propose(request_)
        assert request_ == before
        assert snapshot == (request_.task.model_dump_json(), request_.parent.model_dump_json())

    def test_an_inline_proposer_is_determined_by_the_request(
        self, proposer: Proposer, request_: ProposalRequest
    ) -> None:
        if not proposer.inline:
            pytest.skip("only an inline proposer promises to repeat itself")
        first = [proposer.propose(dataclasses.replace(request_, seed=seed)) for seed in range(20)]
        again = [
            proposer.propose(dataclasses.replace(request_, seed=seed)) for seed in range(19, -1, -1)
        ]
        assert first == again[::-1]
        assert len({proposal.candidate.id for proposal in first}) > 1

    def test_an_inline_proposer_avoids_what_was_tried(
        self, proposer: Proposer, request_: ProposalRequest
    ) -> None:
        if not proposer.inline:
            pytest.skip("only an inline proposer sees all that was tried")
        tried: set[str] = set()
        for seed in range(10):
            asked = dataclasses.replace(request_, tried=frozenset(tried), seed=seed)
            candidate = proposer.propose(asked).candidate
            assert candidate.id not in tried
            tried.add(candidate.id)

    def test_it_ends_with_no_moves_once_all_was_tried(
        self, proposer: Proposer, request_: ProposalRequest
    ) -> None:
        if not self.exhausts:
            pytest.skip("this proposer does not know when everything was tried")
        tried: set[str] = set()
        with pytest.raises(NoMoves):
            for seed in range(self.most_moves):
                asked = dataclasses.replace(request_, tried=frozenset(tried), seed=seed)
                tried.add(proposer.propose(asked).candidate.id)
        space = space_of(request_)
        everything = sum(
            request_.task.allows(space, configuration)
            for configuration in space.configurations(request_.task.timed_workload.shape)
        )
        assert len(tried) == everything - 1, "all but the parent itself"

    def test_it_may_be_asked_from_several_threads(
        self, proposer: Proposer, request_: ProposalRequest
    ) -> None:
        if proposer.inline:
            pytest.skip("the loop calls an inline proposer from one thread")
        asked = [dataclasses.replace(request_, seed=seed) for seed in range(8)]
        with ThreadPoolExecutor(8) as pool:
            for proposal in pool.map(proposer.propose, asked):
                _check(proposal, request_)


def space_of(request: ProposalRequest) -> TunableSpace:
    """The tunables that the parent declares, else the task's."""
    return _declared(request, request.parent)


def _declared(request: ProposalRequest, candidate: Candidate) -> TunableSpace:
    space = request.task.dialect.space_of(candidate.source)
    return request.task.space if space is None else space


def _check(proposal: Proposal, request: ProposalRequest) -> None:
    assert 0 < proposal.prior <= 1
    assert proposal.candidate.id != request.parent.id
    buffers = frozenset(buffer.name for buffer in request.task.buffers)
    for candidate in (proposal.candidate, *proposal.branches):
        request.task.dialect.check_names(
            candidate.source, buffers=buffers, shape=request.task.shape_names
        )
        space = _declared(request, candidate)
        space.check(candidate.tunables)
        assert request.task.allows(space, candidate.tunables)
