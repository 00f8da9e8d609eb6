"""What a run hands over: the best kernel in the forms others can use, and the evidence for it."""
