"""The proposers: what code could the next variant be?

`scripted` chooses values of tunables by the advice of tools; `llm` asks a language model, through
`chat`, with what `prompting` writes and `replies` reads, and `lookups` where it may search a
library. `playbook` names the methods that all of them speak of.
"""
