"""The loop of one run: ask, propose, evaluate, advise, tell. Start at `optimizer`."""
