"""One part of one's own for each of Rooftree's entry-point groups."""
