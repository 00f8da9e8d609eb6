"""What runs leave for later runs: the worth of tools' advice, and the gains of methods."""
