"""What a model looks up in a library while it writes: the conversation, its messages and text."""
