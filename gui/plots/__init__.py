"""Plots that answer within a frame and are controls themselves."""
