"""What the program does with a run: start, resume, conclude and attribute it; and the doctor."""
