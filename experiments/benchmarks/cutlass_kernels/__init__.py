"""Matrix products on CUTLASS: sources with tunables as macros, and what builds, checks and times
them.
"""
