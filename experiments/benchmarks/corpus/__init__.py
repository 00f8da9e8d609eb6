"""The corpus: candidates that cheat, break or only look strange, and the right verdict on each.

`cases` reads the table and makes their tasks, `verdicts` says whether a verdict is right, `running`
judges them, `stress` judges the worst in a row, `tables` and `results` write down what was found.
Run in a checkout as ``python -m experiments.benchmarks.corpus``: the wheel leaves it out.
"""
