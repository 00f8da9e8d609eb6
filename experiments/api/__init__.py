"""Rooftree from Python: what `import rooftree` offers."""
