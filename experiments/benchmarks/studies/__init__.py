"""Studies: arms on tasks with seeds, replayed from recordings, compared in pairs."""
