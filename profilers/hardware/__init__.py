"""The GPU itself: which one, whether it works, what it can do, who holds it."""
