"""Inferometer's core: from a scenario to numbers, without a window.

``core.estimator.estimate`` is the one entry.
"""
