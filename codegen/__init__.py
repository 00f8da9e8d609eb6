"""The proposers: what code could the next variant be?

`scripted` chooses values of tunables by the advice of tools: `encoded_space` turns them into rows
of numbers, `row_weights` weighs these, by `weights`, `effects` and `strides`, `drawing` and `leaps`
choose one, and `rationale` says why. `llm` asks a language model, through `chat`, with what
`prompting` writes and `replies` reads, and `lookups` where it may search a library. `playbook`
names the methods that all of them speak of.
"""
