"""From a model's reply to candidates, or to a reason that a person and a repair understand."""

from codegen.replies.branches import declared_branches
from codegen.replies.reading import Read, read_reply
from codegen.replies.text import without_thoughts

__all__ = ["Read", "declared_branches", "read_reply", "without_thoughts"]
