"""The dialect `kernelbench`: a candidate is a Python file with `ModelNew`, judged from outside.

The judge never imports torch. The oracle holds the problem; a worker holds one candidate, and
whatever it answers is a claim. Tensors pass between the two in shared memory (`exchange`), all
else as JSON (`values`).
"""
