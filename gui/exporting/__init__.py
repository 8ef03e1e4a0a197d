"""What leaves the window: reports on paper, pictures, tables."""
