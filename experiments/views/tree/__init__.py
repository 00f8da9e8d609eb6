"""The search tree as a picture."""
