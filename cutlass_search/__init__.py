"""How does CUTLASS do this? An index over a CUTLASS tree, and tools that look things up in it.

`index` finds the tree, splits it into chunks and stores them, `search` finds places and symbols in
it, `reading` reads its files; `tools` are the look-ups, `text` formats their answers and `library`
offers them to a proposer. Nothing of CUTLASS is part of Rooftree: the tree is the user's.
"""
