"""Is a candidate right, how fast is it, and what did the hardware do?

Three evaluators judge, one for each kind of candidate: `cuda`, `kernelbench` and `host`; a fourth
answers from `recordings`. The side that judges never runs a candidate: that is done by disposable
`children` in a `sandbox`, and what passes between them are length-capped JSON frames and shared
memory. They stand on `compiling`, `hardware` and `measuring` (clocks, energy, statistics).

What the hardware did is read from `ncu`, machine code (`sass`) and a `timeline`, brought together
in `profiles` and set against the `roofline`.
"""
