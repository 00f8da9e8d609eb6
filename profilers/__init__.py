"""Is a candidate right, how fast is it, and what did the hardware do?

Three evaluators judge: `cuda`, `kernelbench` and `host`, of which `dialects` chooses by the task's
own; a fourth answers from `recordings`. The side that judges never runs a candidate: that is done
by disposable `children` in a `sandbox`, and what passes between them are length-capped JSON frames
and shared memory. `hardware` is the GPU itself, `compiling` makes code for it, `launching` runs
that in a worker, and `measuring` is clocks, energy and statistics.

What the hardware did is read from `ncu`, machine code (`sass`) and a `timeline`, brought together
in `profiles` and set against the `roofline`.
"""
