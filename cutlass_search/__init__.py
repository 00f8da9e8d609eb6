"""How does CUTLASS do this? An index over a CUTLASS tree, and tools that look things up in it.

`corpus` finds the tree, `structure` and `chunks` cut it, `index` keeps it, `tools` answers.
Nothing of CUTLASS is part of Rooftree: the tree is the user's.
"""
