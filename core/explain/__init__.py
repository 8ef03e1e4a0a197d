"""What the numbers mean, in phrases."""
