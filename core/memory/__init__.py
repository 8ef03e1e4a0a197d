"""Memory: what a device holds, by the rules of each engine."""
