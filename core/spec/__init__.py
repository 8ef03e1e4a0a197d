"""Frozen specifications: each field declared once, with unit, range and step."""
