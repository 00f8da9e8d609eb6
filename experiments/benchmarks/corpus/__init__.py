"""The corpus: candidates that cheat, break or only look strange, and the right verdict on each.

`exhibits` reads the table, `tasks` makes what they are judged on, `expectation` says whether a
verdict is right, `study` runs them, `hostile` runs the worst in a row, `tables` and
`results` write down what was found. Run as ``python -m experiments.benchmarks.corpus``.
"""
