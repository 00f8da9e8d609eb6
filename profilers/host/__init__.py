"""The dialect `host`: a candidate is one `.cu` whose launcher is host code, as CUTLASS needs.

It is compiled by nvcc in a jail without a GPU; what comes out is wrapped as a `ModelNew` and then
judged by `profilers.kernelbench`, like any other program that nobody has read.
"""
