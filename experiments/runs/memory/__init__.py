"""What runs leave for later runs: what tools' advice was worth, what methods brought."""
