"""The process that knows what is right. It runs the user's problem file, never a candidate."""
