"""Attacks on the whole product, from outside: kills, full disks, damaged files, fuzzed input.

``python -m tests.faults --minutes 20`` runs them in turns and prints what was tried and what broke;
``--seed`` repeats a run, ``--only kills,flips`` chooses attacks. What must hold is in each module.
"""
