"""From a model's reply to a candidate, or to a reason a person understands."""

from __future__ import annotations

import json
import re

from codegen.plan_text import (
    kernel_names,
    with_defaults,
)
from codegen.playbook import playbook
from mcts.domain import (
    PLAN_COMMENT,
    Candidate,
    KernelTask,
    LaunchPlan,
    Scalar,
    TunableSpace,
    evaluate,
    evaluate_int,
    parse_launch_plan,
)
from mcts.errors import InputError, ProposalRejected
from mcts.ports import ProposalRequest

MAX_SOURCE_BYTES = 256 * 1024
MAX_REPLY_CHARACTERS = 1_000_000
MAX_METHODS = 6
_RATIONALE_LENGTH = 240
_MAX_BLOCK_THREADS = 1024
_FENCE = re.compile(
    r"^[ \t]*(`{3,}|~{3,})[ \t]*[^\n`]*\n(.*?)(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.M | re.S
)
_WRAPPER = re.compile(r"\A\s*(?:`{3,}|~{3,})[ \t]*(?:markdown|md)[ \t]*\n", re.IGNORECASE)
_METHOD = re.compile(r"\b(?:compute|memory|latency|parallelism)\.[a-z][a-z0-9_]+\b")
_PLAN_HEADING = re.compile(r"^[#*\s\d.]*plan\b[*:\s]*", re.IGNORECASE | re.MULTILINE)


def parse_reply(
    text: str, request: ProposalRequest, *, finish_reason: str | None = None
) -> Candidate:
    """The candidate that a reply describes: its analysis, its plan, one file of CUDA.

    Raises ProposalRejected naming what is missing or wrong.
    """
    _check_finished(text, finish_reason)
    text = _normal(text)
    prose, blocks = _split(text)
    source = _source(blocks or [text], request)
    if len(source.encode()) > MAX_SOURCE_BYTES:
        raise ProposalRejected(f"the code is larger than {MAX_SOURCE_BYTES // 1024} KB")
    try:
        plan = parse_launch_plan(source)
        _check_plan(plan, request.task)
    except InputError as error:
        raise ProposalRejected(f"the reply's launch plan cannot be used: {error}") from None
    _check_code(source, plan)
    values = plan.space.default()
    parent = request.parent
    if with_defaults(parent.source, values).strip() == source.strip():
        source = parent.source  # only values changed: the same candidate as any other move to them
    return _finish(Candidate(source=source, tunables=values), prose, request)


def parse_values(
    text: str, request: ProposalRequest, *, space: TunableSpace, finish_reason: str | None = None
) -> Candidate:
    """The parent with other tunable values, from a reply that holds them as one JSON object.

    Tunables that the object leaves out keep the parent's values.
    """
    _check_finished(text, finish_reason)
    text = _normal(text)
    prose, blocks = _split(text)
    values = _values(blocks, text)
    try:
        unknown = [name for name in values if name not in space.tunables]
        if unknown:
            known = ", ".join(space.tunables)
            raise InputError(f"unknown tunable {unknown[0]!r}; known: {known}")
        merged = {**space.default(), **request.parent.tunables, **values}
        tunables = {name: _declared(space, name, merged[name]) for name in space.tunables}
        space.check(tunables)
        if not request.task.allows(space, tunables):
            raise InputError("the combination of values is excluded by the space's constraints")
    except InputError as error:
        raise ProposalRejected(f"the reply's tunable values cannot be used: {error}") from None
    return _finish(Candidate(source=request.parent.source, tunables=tunables), prose, request)


def _check_finished(text: str, finish_reason: str | None) -> None:
    if finish_reason == "length":
        raise ProposalRejected("the reply was cut off at the token limit; raise max_tokens")
    if finish_reason == "content_filter":
        raise ProposalRejected("the service withheld the reply (content filter)")
    if not text.strip():
        raise ProposalRejected("the reply is empty")
    if len(text) > MAX_REPLY_CHARACTERS:
        raise ProposalRejected(f"the reply has more than {MAX_REPLY_CHARACTERS} characters")


def _normal(text: str) -> str:
    """The reply with plain line ends, without a byte order mark or a fence around all of it, and
    with lone surrogates (half of an emoji), which no file can hold, replaced.
    """
    plain = text.encode(errors="replace").decode().replace("\r\n", "\n").lstrip("\ufeff")
    return _WRAPPER.sub("", plain)


def _split(text: str) -> tuple[str, list[str]]:
    """The prose around the code blocks, and the blocks; a fence left open runs to the end."""
    return _FENCE.sub("\n", text), [found[2] for found in _FENCE.finditer(text)]


def _source(blocks: list[str], request: ProposalRequest) -> str:
    """One file out of the blocks, the last that is complete: what stands before it is quoted or
    a draft. A plan may stand in a block of its own or be the parent's.
    """
    planned = [block for block in blocks if PLAN_COMMENT.search(block)]
    coded = [block for block in blocks if "__global__" in block]
    both = [block for block in planned if "__global__" in block]
    if both:
        return _from_plan(both[-1])
    if not coded:
        raise ProposalRejected("the reply holds no CUDA code: no block with a __global__ function")
    code = max(coded, key=len)
    if planned:
        return _from_plan(planned[-1]).strip() + "\n" + code
    return _with_parents_plan(code, request)


def _from_plan(text: str) -> str:
    """Cut what stands before the plan when it is talk and not code."""
    found = PLAN_COMMENT.search(text)
    before = text[: found.start()] if found else ""
    code = any(mark in before for mark in ("#", "__global__", "//", "/*", "template", "extern"))
    return text if code or found is None else text[found.start() :]


def _with_parents_plan(code: str, request: ProposalRequest) -> str:
    parent = request.parent
    found = PLAN_COMMENT.search(with_defaults(parent.source, parent.tunables))
    if found is None:
        raise ProposalRejected("the reply's code has no /* rooftree ... */ launch plan")
    launched = frozenset(parse_launch_plan(parent.source).kernels)
    if not launched <= kernel_names(code):
        raise ProposalRejected(
            "the reply's code has no /* rooftree ... */ launch plan, and its kernels are not the "
            f"parent's ({', '.join(sorted(launched))}), so the parent's plan does not fit either"
        )
    return found[0] + "\n" + code


def _check_plan(plan: LaunchPlan, task: KernelTask) -> None:
    """Raise InputError unless names are known and launches make sense on every workload."""
    buffers = frozenset(buffer.name for buffer in task.buffers)
    plan.check_names(buffers=buffers, shape=task.shape_names)
    values = plan.space.default()
    if not task.allows(plan.space, values):
        raise InputError("its own `where` excludes the default values on a workload")
    for workload in task.workloads:
        names: dict[str, Scalar] = {**workload.shape, **values}
        for step in plan.launch:
            if step.kernel is None or (step.when is not None and not evaluate(step.when, names)):
                continue
            place = f"launch of {step.kernel} on workload {workload.name!r}"
            grid = [evaluate_int(expression, names) for expression in step.grid]
            block = [evaluate_int(expression, names) for expression in step.block]
            threads = 1
            for extent in block:
                threads *= extent
            if min(grid + block) < 1:
                raise InputError(f"{place}: grid {grid} and block {block} must be positive")
            if threads > _MAX_BLOCK_THREADS:
                raise InputError(f"{place}: {threads} threads per block, at most 1024 are possible")
            if evaluate_int(step.shared, names) < 0:
                raise InputError(f"{place}: shared memory is negative")


def _check_code(source: str, plan: LaunchPlan) -> None:
    defined = kernel_names(source)
    for kernel in plan.kernels:
        if kernel not in defined:
            listed = ", ".join(sorted(defined)) or "none"
            raise ProposalRejected(
                f"the plan launches {kernel!r}, which is no __global__ function of the code; "
                f"defined: {listed}"
            )
    if not re.search(r'extern\s+"C"', source):
        raise ProposalRejected('kernels must be declared extern "C", so that they keep their names')


def _values(blocks: list[str], text: str) -> dict[str, Scalar]:
    candidates = [*re.findall(r"\{[^{}]*\}", text), *blocks]
    for body in reversed(candidates):
        try:
            found = json.loads(body)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and found:
            bad = [k for k, v in found.items() if not isinstance(v, int | float | str | bool)]
            if bad:
                raise ProposalRejected(f"the value of tunable {bad[0]!r} is not a single value")
            return found
    raise ProposalRejected("the reply holds no JSON object with tunable values")


def _declared(space: TunableSpace, name: str, value: Scalar) -> Scalar:
    """The declared value that equals `value`, so that 4.0 and 4 give the same candidate."""
    for declared in space.tunables[name].values:
        if declared == value or str(declared) == value:
            return declared
    return value


def _finish(candidate: Candidate, prose: str, request: ProposalRequest) -> Candidate:
    if candidate.id == request.parent.id:
        raise ProposalRejected("the reply changes nothing: it is the parent's code and values")
    found = _PLAN_HEADING.search(prose)
    plan = prose[found.end() :] if found else prose
    return candidate.model_copy(
        update={"methods": _methods(plan) or _methods(prose), "rationale": _rationale(plan)}
    )


def _methods(prose: str) -> tuple[str, ...]:
    """Method ids in the order they are mentioned, those of the playbook first."""
    mentioned = list(dict.fromkeys(_METHOD.findall(prose)))
    known = [name for name in mentioned if name in playbook()]
    return tuple([*known, *(name for name in mentioned if name not in known)][:MAX_METHODS])


def _rationale(prose: str) -> str:
    lines = (" ".join(line.strip("#*-> \t").split()) for line in prose.splitlines())
    line = next((line for line in lines if len(line) > 3), "")
    return line if len(line) <= _RATIONALE_LENGTH else line[: _RATIONALE_LENGTH - 3] + "..."
