"""What a model is asked that looks a candidate over, as a second opinion beside the judge."""

from __future__ import annotations

from codegen.prompting.budget import estimate_tokens, fit
from codegen.prompting.contract import template
from codegen.prompting.planning import proposal_section
from codegen.prompting.prompt import Prompt
from codegen.prompting.rules import RULES
from codegen.prompting.task import task_section
from mcts.domain import Candidate, KernelTask
from mcts.errors import InputError
from mcts.options import ModelOptions

ID = "opinion/2"


def opinion_prompt(
    task: KernelTask, candidate: Candidate, *, options: ModelOptions | None = None
) -> Prompt:
    """Whether the candidate does the task's work under the judge's rules, and which it breaks.

    Nothing of the judge's verdict, of times or of the candidate's name and rationale is said.
    InputError if it does not fit.
    """
    options = options or ModelOptions()
    rules = "\n".join(f"- `{name}`: {rule}" for name, rule in RULES.items())
    system = template("opinion.md").replace("$rules", rules)
    bare = candidate.model_copy(update={"name": "", "rationale": ""})
    shown = [task_section(task), proposal_section(bare, task.dialect_of(candidate.source))]
    tokens = estimate_tokens(system)
    fitted = fit(shown, budget=max(0, options.prompt_tokens - tokens))
    tokens += fitted.tokens
    if tokens > options.prompt_tokens or fitted.dropped:
        raise InputError(
            f"the candidate is too long for a second opinion: about {tokens} tokens where "
            f"{options.prompt_tokens} are the budget of a prompt; allow more"
        )
    body = "\n\n".join(section.text for section in fitted.sections)
    return Prompt(
        messages=[{"role": "system", "content": system}, {"role": "user", "content": body}],
        id=ID,
        tokens=tokens,
    )
