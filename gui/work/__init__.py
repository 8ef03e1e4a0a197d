"""What runs off the interface thread."""
