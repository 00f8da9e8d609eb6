"""What a model is told: one prompt for each role, fitted to a budget of tokens."""

from codegen.prompting.build import Prompt, build_prompt
from codegen.prompting.untrusted import fence

__all__ = [
    "Prompt",
    "build_prompt",
    "fence",
]
