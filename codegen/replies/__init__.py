"""From a model's reply to candidates, or to a reason that a person and a repair understand."""

from codegen.replies.text import without_thoughts

__all__ = ["without_thoughts"]
