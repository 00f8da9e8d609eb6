"""What a run is made of and where it is kept: options, tasks, folders, memory, wiring."""
