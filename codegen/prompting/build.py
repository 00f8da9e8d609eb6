"""From a request to messages: the contract of the dialect, what is known, the role's order."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from string import Template
from typing import Any

from codegen.chat.messages import Message
from codegen.prompting.budget import Fitted, Part, Section, estimate_tokens, fit, left_out
from codegen.prompting.experience import experience_section
from codegen.prompting.feedback import FEEDBACK_TOKENS, feedback_section
from codegen.prompting.hardware import hardware_section
from codegen.prompting.history import (
    attempts_section,
    exemplars_section,
    lessons_section,
    methods_section,
    offered,
)
from codegen.prompting.roles import Form, Role, prompt_id, role_of, template_name
from codegen.prompting.task import space_section, task_section
from codegen.prompting.variant import result_section, variant_section
from mcts.domain import Hardware, TunableSpace
from mcts.errors import InputError, NoMoves
from mcts.options import ModelOptions
from mcts.ports import ProposalRequest

_BLOCK = {
    "cuda": {"language": "cuda", "first": "the launch plan's comment"},
    "kernelbench": {"language": "python", "first": "imports"},
    "host": {"language": "cuda", "first": "the plan's comment"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """Messages, the template they were made from, and what had to be left out, by kind."""

    messages: list[Message]
    id: str
    dropped: dict[str, int] = field(default_factory=dict)
    tokens: int = 0


def reply_form(request: ProposalRequest, *, tunables_only: bool = False) -> Form:
    """What a reply to the request holds: a whole file, or values alone."""
    dialect = request.task.dialect
    if dialect == "space" or (tunables_only and dialect == "cuda"):
        return "values"
    return dialect


def build_prompt(
    request: ProposalRequest,
    hardware: Hardware | None,
    *,
    form: Form,
    options: ModelOptions | None = None,
    space: TunableSpace | None = None,
    without: str | None = None,
    lookups: str = "",
) -> Prompt:
    """The prompt for a request; `space` are the tunables where only values are asked for, `without`
    a method that is to be taken out of the parent, `lookups` what it says of looking things up.

    What does not fit is left out, least valuable first, and the prompt says so. Where what must
    stay does not fit: InputError when the task itself is too long, NoMoves when the parent is.
    """
    options = options or ModelOptions()
    role = role_of(request, without=without)
    system = _system(form, options, lookups)
    far = request.move.far and role == "optimize"
    order = _order_section(role, form, without, far=far)
    before, after = _sections(request, hardware, role, form, space)
    reserved = estimate_tokens(system) + FEEDBACK_TOKENS + _NOTE_TOKENS
    fitted = fit([*before, *after, order], budget=options.prompt_tokens - reserved)
    tokens = fitted.tokens + reserved
    if tokens > options.prompt_tokens:
        _too_long(request, tokens, options)
    feedback = feedback_section(request, options.feedback, offered(form, hardware))
    return Prompt(
        messages=[
            {"role": "system", "content": system},
            {"role": "user", "content": _body(fitted, feedback, len(before))},
        ],
        id=prompt_id(role, form),
        dropped=fitted.dropped,
        tokens=tokens,
    )


_NOTE_TOKENS = 40


def _sections(
    request: ProposalRequest,
    hardware: Hardware | None,
    role: Role,
    form: Form,
    space: TunableSpace | None,
) -> tuple[list[Section], list[Section]]:
    """What stands before the feedback and what behind it; what changes least comes first."""
    before = [
        *_unchanging(_Same(request.task), _Same(hardware), form),
        space_section(space) if space is not None else None,
        variant_section(request, role),
        result_section(request, role),
    ]
    after = [
        experience_section(request),
        lessons_section(request.lessons),
        exemplars_section(request),
        attempts_section(request, role),
    ]
    return [section for section in before if section is not None], after


class _Same:
    """A value as a key: equal to nothing but itself."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


@lru_cache(maxsize=16)
def _unchanging(task: _Same, hardware: _Same, form: Form) -> tuple[Section | None, ...]:
    """What every prompt of a run begins with, made once."""
    return (
        task_section(task.value),
        hardware_section(hardware.value),
        methods_section(form, hardware.value),
    )


def _body(fitted: Fitted, feedback: Section | None, place: int) -> str:
    texts = [section.text for section in fitted.sections]
    texts.insert(place, feedback.text if feedback is not None else "")
    if note := left_out(fitted.dropped):
        texts.insert(len(texts) - 1, note)
    return "\n\n".join(filter(None, texts))


def _system(form: Form, options: ModelOptions, lookups: str) -> str:
    parts = [_template("system.md"), _template(f"contract_{form}.md")]
    if lookups:
        parts.append(lookups)
    if form == "values":
        parts.append(_template("reply_values.md"))
        return "\n\n".join(parts)
    reply = Template(_template("reply_source.md")).substitute(_BLOCK[form])
    if options.branches > 1:
        branches = Template(_template("reply_branches.md"))
        reply += "\n" + branches.substitute(branches=options.branches - 1)
    return "\n\n".join([*parts, reply])


def _order_section(role: Role, form: Form, method: str | None, *, far: bool) -> Section:
    order = _template(template_name(role, form))
    if method is not None:
        order = Template(order).substitute(method=method)
    wider = (Part(_template("far.md")),) if far else ()
    return Section(title="Now", parts=(Part(order), *wider))


@lru_cache(maxsize=32)
def _template(name: str) -> str:
    return (
        files("codegen.prompting").joinpath("templates", name).read_text(encoding="utf-8").strip()
    )


def _too_long(request: ProposalRequest, tokens: int, options: ModelOptions) -> None:
    """Raise what fits: the user can mend the task or the budget, but not a variant."""
    needed = f"about {tokens} tokens where {options.prompt_tokens} are the budget of a prompt"
    if request.parent.id == request.task.baseline.id:
        raise InputError(f"the task does not fit into a prompt: it takes {needed}; allow more")
    raise NoMoves(f"the variant is too long to be shown: the prompt takes {needed}")
