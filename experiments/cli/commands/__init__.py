"""What each command does after its options were read."""
