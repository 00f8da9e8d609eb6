"""How does CUTLASS do this? An index over a CUTLASS tree, and tools that look things up in it.

`index` finds the tree, cuts it and keeps it, `search` finds places and symbols in it, `reading`
shows what stands there; `tools` are the look-ups, `text` writes their answers and `library` hands
them to a proposer. Nothing of CUTLASS is part of Rooftree: the tree is the user's.
"""
