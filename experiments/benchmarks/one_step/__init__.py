"""One-step studies: what a model's next variant gains over the same measured parents, by arm."""
