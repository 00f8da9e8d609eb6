"""The proposer with a language model behind it: one prompt, one reply, one candidate."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from codegen.branching import branches_of
from codegen.chat.clients import client_of, in_process
from codegen.chat.messages import ChatClient, Message, Reply
from codegen.chat.prices import parse_prices, price_of
from codegen.chat.usage import ProposalUsage
from codegen.dialects import Read, Writing, writing_of
from codegen.dialects.space.values import choosable_space
from codegen.lookups.conversation import NONE_LEFT, Lookups
from codegen.lookups.prompt import VERSION
from codegen.prompting import (
    Prompt,
    build_choice,
    build_plan,
    build_prompt,
    build_review,
    fence,
)
from codegen.prompting.contract import Contract
from codegen.prompting.untrusted import shortened
from codegen.replies import without_thoughts
from codegen.replies.directions import directions_of
from codegen.replies.tool_names import tool_names_of
from codegen.tuning import retuned
from mcts.domain import Candidate, Hardware, KernelTask, TunableSpace
from mcts.errors import (
    InputError,
    JournalError,
    NoMoves,
    NotRecorded,
    ProposalRejected,
    Suspended,
    WorldError,
)
from mcts.library import Library
from mcts.microtool.toolbox import Toolbox
from mcts.options import ModelOptions
from mcts.ports import Attempt, Proposal, ProposalRequest, Proposer
from mcts.search.seeding import seed_from

PRIOR = 0.5
"""What a model says of its own confidence is not calibrated: its proposals start alike."""
_ECHO = 24_000
"""Characters of an unusable reply that are shown to the model again."""


class LlmProposer(Proposer):
    """Asks the model that `options` name (any name litellm knows, or ``openai/NAME`` with an
    `api_base`) for the next variant, as they say.

    With `tunables_only` the model chooses values for the tunables and the source stays: that is
    all a replay can judge. A reply that cannot be used is asked for again `reply_repairs` times,
    with the reason. Of each proposal `branches` variants are timed: 1 is the candidate alone, more
    add other values of its tunables, and behind them up to `tune` more as long as they promise
    a gain (`codegen.tuning`). Where whole files are written, `roles` may have a planner asked
    before it and a critic behind it; what they cannot say is done without. With feedback `chosen`
    the model is asked first which of `tools` shall look at the parent's profile; where it is not,
    or names none, it is given what all say.

    `client` replaces litellm. In `library` a model may look things up while it prepares a proposal,
    as far as the options allow; it is closed with the proposer. Thread-safe.
    """

    can_ablate = True

    def __init__(
        self,
        options: ModelOptions,
        *,
        tunables_only: bool = False,
        hardware: Hardware | None = None,
        client: ChatClient | None = None,
        library: Library | None = None,
        tools: Toolbox | None = None,
    ) -> None:
        if options.model_prior and not in_process(options):
            raise InputError(
                "--model-prior needs the probabilities of a model that runs in this process: "
                "--model transformers/DIR"
            )
        self.name = f"llm:{options.name}"
        self._options = options
        self.can_tune = options.tune > 0 and not tunables_only
        self._client = client or client_of(options)
        self._prices = parse_prices(options.prices)
        self._library, self._hardware = library, hardware
        self._tunables_only = tunables_only
        self._tools = tools

    def close(self) -> None:
        """Give up what is in flight; idempotent."""
        self._client.close()
        if self._library is not None:
            self._library.close()

    def price(self, usage: Mapping[str, Any]) -> float | None:
        """What replies cost by the given prices, each by its own model's; None if one of them
        has none.
        """
        return price_of(usage, self._prices)

    def propose(self, request: ProposalRequest) -> Proposal:
        """Ask, and ask again if the reply cannot be used.

        Raises ProposalRejected for replies that hold no usable candidate, NotRecorded for values
        that a replay cannot judge, NoMoves if there are no values to choose or the parent is too
        long to be shown, WorldError when no reply could
        be had, InputError if a key, a name or a setting must be mended first; each with what the
        replies before it cost.
        """
        writing = self._writing(request)
        contract = writing.contract
        space = None if contract.whole_file else _space_of(request)
        lookups = Lookups(self._library, self._options) if self._library is not None else None
        request, chosen = self._informed(request, contract)
        planned = self._planned(request, contract)
        prompt = build_prompt(
            request,
            self._hardware,
            contract=contract,
            options=self._options,
            space=space,
            lookups=lookups.words if lookups is not None else "",
            directions=planned.directions,
        )
        talk = _Talk(request, prompt, writing, _spending(prompt, lookups), lookups)
        if chosen is not None:
            talk.spending.prompt += f"+{contract.prompt_id('choose')}"
        for beside in (chosen, planned.beside):
            if beside is not None:
                talk.spending.add(beside.reply, beside.seconds)
        asked, reply = self._ask(talk)
        read = self._reviewed(asked, talk)
        most = self._options.branches - 1 if contract.whole_file else 0
        return Proposal(
            candidate=read.candidate,
            branches=branches_of(read.candidate, read.branches, request, most=most),
            prior=_prior(reply, space) if self._options.model_prior else PRIOR,
            usage=talk.usage(),
        )

    def retuned(
        self, task: KernelTask, judged: Sequence[Attempt], *, best_speedup: float, seed: int
    ) -> Candidate | None:
        """Other values of a promising variant, up to `tune` behind its branches, for `tune_seconds`
        in all.
        """
        branches, most_s = self._options.branches, self._options.tune_seconds
        if len(judged) >= branches + self._options.tune:
            return None
        if most_s is not None and sum(one.seconds for one in judged[branches:]) >= most_s:
            return None
        return retuned(task, judged, best_speedup=best_speedup, seed=seed)

    def without(self, request: ProposalRequest, method: str) -> Proposal:
        """The parent with `method` taken out, for attribution.

        Raises what `propose` raises; NoMoves if only values may change, which the caller sets
        back without a model.
        """
        writing = self._writing(request)
        if not writing.contract.whole_file:
            raise NoMoves("no code may be written here")
        plain = self._options.model_copy(update={"branches": 1})
        prompt = build_prompt(
            request, self._hardware, contract=writing.contract, options=plain, without=method
        )
        talk = _Talk(request, prompt, writing, _spending(prompt, None))
        found = self._ask(talk)[0].candidate
        left = tuple(name for name in request.parent.methods if name != method)
        candidate = found.model_copy(update={"methods": left, "rationale": f"without {method}"})
        return Proposal(candidate=candidate, prior=PRIOR, usage=talk.usage())

    def _planned(self, request: ProposalRequest, contract: Contract) -> _Plan:
        """What a planner says of a step forward; nothing where none is asked, or its reply says
        nothing. Raises what clients raise.
        """
        wanted = "planner" in self._options.roles and contract.whole_file
        if not wanted or request.move.kind != "improve" or request.move.far:
            return _Plan()
        prompt = build_plan(request, self._hardware, contract=contract, options=self._options)
        beside = self._asked_beside(prompt, seed=seed_from("plan", request.parent.id))
        return _Plan(directions_of(beside.reply.text), beside) if beside is not None else _Plan()

    def _informed(
        self, request: ProposalRequest, contract: Contract
    ) -> tuple[ProposalRequest, _Beside | None]:
        """The request with what the tools say that the model chooses, and its reply; as it is
        where it does not choose. Raises what clients raise.
        """
        wanted = self._options.feedback == "chosen" and contract.whole_file
        if not wanted or self._tools is None or request.profile is None:
            return request, None
        if not request.evaluation.measured or request.move.kind != "improve" or request.move.far:
            return request, None
        tools = self._tools.tools
        prompt = build_choice(
            request, self._hardware, tools, contract=contract, options=self._options
        )
        beside = self._asked_beside(prompt, seed=seed_from("choose", request.parent.id))
        names = tool_names_of(beside.reply.text, tools) if beside is not None else ()
        if not names:
            return request, beside
        found = self._tools.run(names, request.task, request.evaluation, request.profile)
        return replace(request, guidance=found), beside

    def _asked_beside(self, prompt: Prompt, *, seed: int) -> _Beside | None:
        """A reply that is no variant; None where the service refuses the prompt."""
        begin = time.perf_counter()
        try:
            reply = self._client.complete(
                prompt.messages,
                max_tokens=self._options.reply_tokens,
                temperature=self._options.temperature,
                seed=seed,
            )
        except ProposalRejected:
            return None
        return _Beside(reply, time.perf_counter() - begin)

    def _reviewed(self, read: Read, talk: _Talk) -> Read:
        """The proposal as a critic mends it; as it is where none is asked, or it has no usable
        change. Raises what clients raise, with what was paid: the coder's answer is kept, so that
        it is not paid again when the run goes on.
        """
        if "critic" not in self._options.roles or not talk.writing.contract.whole_file:
            return read
        proposed = read.candidate
        shown = replace(talk.request, parent=proposed)
        try:
            prompt = build_review(
                talk.request, self._hardware, proposed,
                contract=talk.writing.contract, options=self._options,
            )  # fmt: skip
        except (InputError, NoMoves):  # what was written is too long to be shown
            return read
        try:
            talk.spending.prompt += f"+{prompt.id}"
            reply = self._complete(prompt.messages, replace(talk, lookups=None))
            mended = talk.writing.read(reply.text, shown, finish_reason=reply.finish_reason)
        except (JournalError, Suspended):
            raise
        except (InputError, WorldError) as error:
            raise type(error)(str(error), usage=talk.usage()) from None
        except ProposalRejected:  # what was written is there all the same
            return read
        if mended.candidate.id == talk.request.parent.id:
            return read
        kept = {name: getattr(proposed, name) for name in ("methods", "rationale", "name")}
        return Read(mended.candidate.model_copy(update=kept), read.branches)

    def _writing(self, request: ProposalRequest) -> Writing:
        return writing_of(request.task.dialect).asked(tunables_only=self._tunables_only)

    def _ask(self, talk: _Talk) -> tuple[Read, Reply]:
        """The first usable reply and what it holds; every one is paid for."""
        known = talk.prompt.messages
        messages = known
        reason = ""
        for _ in range(self._options.reply_repairs + 1):
            try:
                reply, looked = self._converse(messages, talk)
            except ProposalRejected as error:  # the service refuses this very prompt
                raise ProposalRejected(str(error), usage=talk.usage()) from None
            except (JournalError, Suspended):
                raise
            except InputError as error:
                raise InputError(str(error), usage=talk.usage()) from None
            except WorldError as error:
                # What earlier replies cost is known and must not be lost with this one.
                if not reason:
                    raise WorldError(str(error), usage=talk.usage()) from None
                # Why is the operator's concern: the reason is told to models in later prompts.
                text = f"{reason} (and no better reply could be had)"
                raise ProposalRejected(text, usage=talk.usage()) from error
            try:
                read = talk.writing.read(
                    reply.text, talk.request, finish_reason=reply.finish_reason
                )
                return read, reply
            except NotRecorded as error:
                raise NotRecorded(str(error), usage=talk.usage()) from None
            except ProposalRejected as error:
                reason = NONE_LEFT if talk.wants(reply) else str(error)
            known = [*known, *looked]
            messages = [*known, *_again(reply, reason, talk.writing)]
        raise ProposalRejected(reason, usage=talk.usage())

    def _converse(self, messages: list[Message], talk: _Talk) -> tuple[Reply, list[Message]]:
        """The first reply that asks for no look-up, and what was looked up before it."""
        looked: list[Message] = []
        while True:
            reply = self._complete([*messages, *looked], talk)
            if talk.lookups is None or not talk.lookups.open or not talk.wants(reply):
                return reply, looked
            looked += talk.lookups.answer(reply)

    def _complete(self, messages: list[Message], talk: _Talk) -> Reply:
        begin = time.perf_counter()
        reply = self._client.complete(
            messages,
            max_tokens=self._options.reply_tokens,
            temperature=self._options.temperature,
            seed=talk.request.seed,
            offer=talk.lookups.offer if talk.lookups is not None else None,
        )
        talk.spending.add(reply, time.perf_counter() - begin)
        return reply


def _prior(reply: Reply, space: TunableSpace | None) -> float:
    """How much more probable the model found its reply than one combination of all at random: 1/2
    where it is as probable, more where it is more. `PRIOR` where that is not known.
    """
    if reply.logprob is None or space is None:
        return PRIOR
    log_odds = reply.logprob + math.log(len(space.rows) or space.size)
    return min(0.95, max(0.05, 1 / (1 + math.exp(-max(-50.0, min(50.0, log_odds))))))


@dataclass(frozen=True, slots=True)
class _Beside:
    """A reply that is no variant, and how long it took."""

    reply: Reply
    seconds: float


@dataclass(frozen=True, slots=True)
class _Plan:
    """Directions, and the reply that named them."""

    directions: tuple[str, ...] = ()
    beside: _Beside | None = None


@dataclass(frozen=True, slots=True)
class _Talk:
    """One proposal's exchange with the model."""

    request: ProposalRequest
    prompt: Prompt
    writing: Writing
    spending: ProposalUsage
    lookups: Lookups | None = None

    def wants(self, reply: Reply) -> bool:
        """Whether a reply asks for look-ups."""
        return self.lookups is not None and bool(self.lookups.wanted(reply))

    def usage(self) -> dict[str, object]:
        """What was spent so far; nothing at all before the first reply."""
        if not self.spending.replies:
            return {}
        looked = self.lookups.usage() if self.lookups is not None else {}
        return self.spending.usage() | looked


def _spending(prompt: Prompt, lookups: Lookups | None) -> ProposalUsage:
    """An empty account; a prompt that offers look-ups is another one than without."""
    offered = f"+lookups/{VERSION}" if lookups is not None else ""
    return ProposalUsage(prompt.id + offered, prompt.dropped)


def _space_of(request: ProposalRequest) -> TunableSpace:
    space = choosable_space(request)
    if space.size <= 1:
        raise NoMoves("the kernel declares no tunables to choose values for")
    return space


def _again(reply: Reply, reason: str, writing: Writing) -> list[Message]:
    """The unusable reply and what is wrong with it. A reply that was cut off is not repeated: it
    would take the room that the next one needs.
    """
    whole = "one complete file" if writing.contract.whole_file else "the values"
    order = f"Answer again in all parts, with {whole}."
    if reply.finish_reason == "length":
        order += " Be brief outside of the code."
    asked = f"Your reply cannot be used:\n\n{fence(reason)}\n\n{order}"
    said = without_thoughts(reply.text).strip()
    if not said or reply.finish_reason == "length":
        said = "(a reply that cannot be used)"
    return [
        {"role": "assistant", "content": shortened(said, longest=_ECHO)},
        {"role": "user", "content": asked},
    ]
