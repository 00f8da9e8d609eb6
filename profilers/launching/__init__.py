"""Compiled code on the device: programs, their memory, sessions, and the GPU worker process."""
