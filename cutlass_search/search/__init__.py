"""Finding places by words and symbols by name in an index."""
