"""`rooftree serve`: the runs of a folder in a browser, on this machine alone, to look at."""
