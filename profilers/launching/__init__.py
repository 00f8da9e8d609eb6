"""Compiled code on the device: programs, their memory, sessions, and the worker that holds one."""
