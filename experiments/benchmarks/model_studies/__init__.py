"""Studies of whole searches by a language model: arms on tasks with seeds, each a run folder."""
