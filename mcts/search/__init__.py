"""What to try next: searches as ask and tell over a tree, all equals.

Same proposer, same evaluator, same budget: only where the next proposal starts from differs.
`port` says what every search offers, `puct` is the tree search, `catalogue` finds them all by
name; what searches share is in `trial_book` and `parent_search`.
"""
