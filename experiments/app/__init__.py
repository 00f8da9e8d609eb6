"""What the program does with a run: begin it, go on with it, conclude it, attribute it."""
