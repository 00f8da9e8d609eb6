"""Processes that may be lost: forked, jailed, asked with deadlines, ended for sure."""
