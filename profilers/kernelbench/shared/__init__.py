"""What the oracle and the worker both need: problem files, values, shared memory, timed runs."""
