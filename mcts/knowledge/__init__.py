"""What runs have learned, kept across runs and tasks and asked by performance state."""
