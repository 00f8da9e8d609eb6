"""A run as a person sees it: the summary, the closing words, the tree, the report."""
