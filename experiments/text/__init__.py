"""Words, figures and tables for people; knows nothing else of the program."""
