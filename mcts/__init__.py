"""The nouns, the ports and the search: floor one, which imports nothing of ours.

`optimize` is the loop, from the `baseline` over trials in `flights` to their `settling`, and
`ports` are its seams; `domain` holds the nouns. `search` is the tree search, on `tree`,
`selection`, `backup`, `reward` and `pruning`; `searches` are its rivals, and `bookkeeping` is what
all of them share. `memory` and `knowledge` are what this run and others have learned. `runlog`,
`record` and `reading` turn a run into events and back.
"""
