"""The dialect `kernelbench`: a candidate is a Python file with `ModelNew`, judged from outside.

Three processes of different trust, a folder each. The `judge` never imports torch and runs no
foreign code. The `oracle` holds the problem and knows what is right. A `worker` holds one
candidate, and whatever it answers is a claim. None imports another: tensors pass between oracle
and worker in shared memory (`shared.shared_memory`), all else as JSON (`shared.values`).
"""
