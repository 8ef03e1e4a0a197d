"""Readers of a model configuration in the Hugging Face style, one table of families."""
