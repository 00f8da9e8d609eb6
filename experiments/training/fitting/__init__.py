"""Training models: examples, a small decoder of its own, and TRL in three stages."""
