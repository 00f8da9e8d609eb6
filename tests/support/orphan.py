"""A program that leaves a process behind, which has left its session and holds a lock."""

from __future__ import annotations

ORPHAN = """
import fcntl, os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        file = open(given, "w")
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write("held")
        file.flush()
        time.sleep(600)
    os._exit(0)
os.wait()
while not os.path.getsize(given):
    time.sleep(0.01)
"""
"""Source; `given` is the file to lock and to write to, which must exist."""
