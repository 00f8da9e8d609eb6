"""Recordings: what a device measured once, kept in T4 files and replayed."""
