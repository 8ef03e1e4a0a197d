"""What comes in: files opened, dropped and pasted, and what is said of those refused."""
