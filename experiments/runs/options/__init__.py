"""What a run was asked for: options, the configuration they become, and what conflicts."""
