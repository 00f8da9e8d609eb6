"""From a request to messages: the contract of the dialect, what is known, the role's order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from string import Template
from typing import Any

from codegen.prompting.brief import brief_prompt
from codegen.prompting.budget import Fitted, Part, Section, estimate_tokens, fit, left_out
from codegen.prompting.contract import Contract, template
from codegen.prompting.experience import experience_section
from codegen.prompting.feedback import FEEDBACK_TOKENS, feedback_sections
from codegen.prompting.hardware import hardware_section
from codegen.prompting.history import (
    attempts_section,
    exemplars_section,
    lessons_section,
    methods_section,
)
from codegen.prompting.modules import MODULES, MODULES_TITLE, modules_section
from codegen.prompting.pending import PENDING, pending_section
from codegen.prompting.planning import directions_section, proposal_section, tools_section
from codegen.prompting.prompt import Prompt
from codegen.prompting.roles import Beside, Role, role_of
from codegen.prompting.steps import STEPS, STEPS_TITLE, steps_section
from codegen.prompting.task import space_section, task_section
from codegen.prompting.variant import result_section, variant_section
from mcts.domain import Candidate, Hardware, TunableSpace
from mcts.errors import InputError, NoMoves
from mcts.options import ModelOptions
from mcts.ports import ProposalRequest


def build_prompt(
    request: ProposalRequest,
    hardware: Hardware | None,
    *,
    contract: Contract,
    options: ModelOptions | None = None,
    space: TunableSpace | None = None,
    without: str | None = None,
    lookups: str = "",
    directions: Sequence[str] = (),
) -> Prompt:
    """The prompt for a request, to be answered by the `contract`; `space` are the tunables if only
    values are asked for, `without` a method that is to be taken out of the parent, `lookups` what
    it says of looking things up, `directions` what a planner has named, of which one is to be
    taken.

    What does not fit is left out, least valuable first, and the prompt says so. Where what must
    stay does not fit: InputError when the task itself is too long, NoMoves when the parent is.
    """
    options = options or ModelOptions()
    if options.prompt_form == "brief":
        return brief_prompt(request, hardware, space, options)
    role = role_of(request, without=without)
    far = request.move.far and role == "optimize"
    before, after = _sections(
        request, hardware, role, contract, options, space, planned=bool(directions)
    )
    planned = [directions_section(request, directions)] if directions else []
    planned_id = f"+{contract.prompt_id('plan')}" if directions else ""
    return _assembled(
        request,
        system=_system(contract, lookups, contract.reply(options.branches - 1)),
        before=before,
        feedback=feedback_sections(request, options.feedback, contract.methods(hardware)),
        after=[*after, *planned, _order_section(role, contract, without, far=far)],
        id=contract.prompt_id(role)
        + "".join(
            sign
            for title, sign in ((STEPS_TITLE, STEPS), (MODULES_TITLE, MODULES))
            if any(section.title == title for section in before)
        )
        + (PENDING if request.pending else "")
        + planned_id,
        options=options,
    )


def build_plan(
    request: ProposalRequest,
    hardware: Hardware | None,
    *,
    contract: Contract,
    options: ModelOptions,
) -> Prompt:
    """What a planner is asked: directions from the parent, by all that its coder will see.

    Trials that are pending are left out, and exemplars, which are drawn for each: trials from one
    parent ask the same until one of them is told. Raises what `build_prompt` raises.
    """
    return _asked_beside(
        request, hardware, "plan", contract=contract, options=options,
        feedback=feedback_sections(request, options.feedback, contract.methods(hardware)),
    )  # fmt: skip


def build_choice(
    request: ProposalRequest,
    hardware: Hardware | None,
    tools: Mapping[str, str],
    *,
    contract: Contract,
    options: ModelOptions,
) -> Prompt:
    """Which of the `tools`, told by name with what they look for, shall look at the parent's
    profile. Trials from one parent ask the same, as they do of a planner.

    Raises what `build_prompt` raises.
    """
    return _asked_beside(
        request, hardware, "choose", contract=contract, options=options,
        closing=(tools_section(request, tools),),
    )  # fmt: skip


def _asked_beside(
    request: ProposalRequest,
    hardware: Hardware | None,
    beside: Beside,
    *,
    contract: Contract,
    options: ModelOptions,
    feedback: tuple[Section, ...] = (),
    closing: Sequence[Section] = (),
) -> Prompt:
    """A question before the variant is written, the same for all trials from one parent; `closing`
    are sections before its order.
    """
    alone = replace(request, pending=(), exemplars=())
    before, after = _sections(
        alone, hardware, role_of(request), contract, options, None, planned=True
    )
    order = Section(title="Now", parts=(Part(contract.order(beside)),))
    return _assembled(
        alone,
        system=_system(contract, "", contract.reply_of(beside)),
        before=before,
        feedback=feedback,
        after=[*after, *closing, order],
        id=contract.prompt_id(beside),
        options=options,
    )


def build_review(
    request: ProposalRequest,
    hardware: Hardware | None,
    proposed: Candidate,
    *,
    contract: Contract,
    options: ModelOptions,
) -> Prompt:
    """What a critic is asked of a proposal before it is judged.

    Raises what `build_prompt` raises.
    """
    same = _unchanging(_Same(request.task), _Same(hardware), contract)
    return _assembled(
        request,
        system=_system(contract, "", contract.reply_of("review")),
        before=[section for section in same[:2] if section is not None],
        feedback=(),
        after=[
            proposal_section(proposed, request.task.dialect),
            Section(title="Now", parts=(Part(contract.order("review")),)),
        ],
        id=contract.prompt_id("review"),
        options=options,
        room=0,
    )


_NOTE_TOKENS = 40


def _assembled(
    request: ProposalRequest,
    *,
    system: str,
    before: Sequence[Section],
    feedback: tuple[Section, ...],
    after: Sequence[Section],
    id: str,
    options: ModelOptions,
    room: int = FEEDBACK_TOKENS,
) -> Prompt:
    """The messages, as far as the parts fit, with `room` for the feedback. Raises what
    `build_prompt` raises.
    """
    reserved = estimate_tokens(system) + room + _NOTE_TOKENS
    fitted = fit([*before, *after], budget=options.prompt_tokens - reserved)
    tokens = fitted.tokens + reserved
    if tokens > options.prompt_tokens:
        _too_long(request, tokens, options)
    return Prompt(
        messages=[
            {"role": "system", "content": system},
            {"role": "user", "content": _body(fitted, feedback, len(before))},
        ],
        id=id,
        dropped=fitted.dropped,
        tokens=tokens,
    )


def _sections(
    request: ProposalRequest,
    hardware: Hardware | None,
    role: Role,
    contract: Contract,
    options: ModelOptions,
    space: TunableSpace | None,
    *,
    planned: bool,
) -> tuple[list[Section], list[Section]]:
    """What stands before the feedback and what behind it; what changes least comes first."""
    before = [
        *_unchanging(_Same(request.task), _Same(hardware), contract),
        space_section(space) if space is not None else None,
        variant_section(request, role),
        result_section(request, role),
        _steps(request, hardware, role, options),
        modules_section(request.profile, role) if options.problem_modules else None,
    ]
    after = [
        experience_section(request),
        lessons_section(request.lessons),
        exemplars_section(request),
        attempts_section(request, role),
        pending_section(request, role, planned=planned),
    ]
    return [section for section in before if section is not None], after


def _steps(
    request: ProposalRequest, hardware: Hardware | None, role: Role, options: ModelOptions
) -> Section | None:
    if role != "implement" or not options.problem_steps:
        return None
    return steps_section(request.profile, hardware)


class _Same:
    """A value as a key: equal to nothing but itself."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


@lru_cache(maxsize=16)
def _unchanging(task: _Same, hardware: _Same, contract: Contract) -> tuple[Section | None, ...]:
    """What every prompt of a run begins with, made once."""
    return (
        task_section(task.value),
        hardware_section(hardware.value),
        methods_section(contract, hardware.value),
    )


def _body(fitted: Fitted, feedback: tuple[Section, ...], place: int) -> str:
    texts = [section.text for section in fitted.sections]
    texts[place:place] = [section.text for section in feedback]
    if note := left_out(fitted.dropped):
        texts.insert(len(texts) - 1, note)
    return "\n\n".join(filter(None, texts))


def _system(contract: Contract, lookups: str, reply: str) -> str:
    return "\n\n".join(filter(None, [template("system.md"), contract.text, lookups, reply]))


def _order_section(role: Role, contract: Contract, method: str | None, *, far: bool) -> Section:
    order = contract.order(role)
    if method is not None:
        order = Template(order).substitute(method=method)
    wider = (Part(template("far.md")),) if far else ()
    return Section(title="Now", parts=(Part(order), *wider))


def _too_long(request: ProposalRequest, tokens: int, options: ModelOptions) -> None:
    """Raise what fits: the user can mend the task or the budget, but not a variant."""
    needed = f"about {tokens} tokens where {options.prompt_tokens} are the budget of a prompt"
    if request.parent.id == request.task.baseline.id:
        raise InputError(f"the task does not fit into a prompt: it takes {needed}; allow more")
    raise NoMoves(f"the variant is too long to be shown: the prompt takes {needed}")
