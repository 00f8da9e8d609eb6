"""The proposers: what code could the next variant be?

`scripted` chooses values of tunables by the advice of tools. `llm` asks a language model: through
`chat`, with what `prompting` writes and `replies` reads, and with `lookups` if it may search a
library; `dialects` says for each of them what a candidate is and how a reply holds it, and
`branching` adds the same idea with other values. `export` writes a kernel in other forms.
`playbook` names the methods that all of them speak of. `torch_cuda` is for candidates: CUDA C++ on
PyTorch tensors.
"""
