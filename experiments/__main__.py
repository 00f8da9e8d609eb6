"""`python -m experiments`: the command `rooftree` from its sources."""

from experiments.cli import main

main()
