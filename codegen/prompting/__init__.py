"""What a model is told: one prompt for each role, fitted to a budget of tokens."""

from codegen.prompting.build import Prompt, PromptSettings, build_prompt, reply_form
from codegen.prompting.feedback import FEEDBACKS, Feedback
from codegen.prompting.untrusted import fence

__all__ = [
    "FEEDBACKS",
    "Feedback",
    "Prompt",
    "PromptSettings",
    "build_prompt",
    "fence",
    "reply_form",
]
