"""What each method of a variant is worth, measured by ablation."""
