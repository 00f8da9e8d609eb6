"""A kernel in the forms in which others can use it: a `ModelNew`, a C++ header, a file of its own.

What is written here takes a task and a candidate, and no run.
"""
