"""The nouns, the ports and the search: floor one, which imports nothing of ours."""
