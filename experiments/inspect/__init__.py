"""What `rooftree inspect` sees of a file, and how it shows it."""
