"""Readers of what benchmark tools, engines and monitors write; each makes runs in our own definitions."""
