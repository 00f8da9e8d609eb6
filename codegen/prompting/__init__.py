"""What a model is told: one prompt for each role, fitted to a budget of tokens."""

from codegen.prompting.build import build_choice, build_plan, build_prompt, build_review
from codegen.prompting.prompt import Prompt
from codegen.prompting.untrusted import fence

__all__ = [
    "Prompt",
    "build_choice",
    "build_plan",
    "build_prompt",
    "build_review",
    "fence",
]
