"""From what was asked to the parts that do it: the composition root."""
