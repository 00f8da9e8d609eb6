"""The dialect `host`: a candidate is one `.cu` whose launcher is host code, as CUTLASS needs.

It is compiled by nvcc in a jail without a GPU, wrapped as a `ModelNew`, and then judged by
`profilers.kernelbench` like any other untrusted program.
"""
