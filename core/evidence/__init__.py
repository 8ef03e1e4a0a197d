"""Measurements against the model: records, how they name things, and the comparison."""
