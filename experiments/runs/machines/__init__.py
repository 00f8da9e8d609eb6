"""What this machine has and can do."""
