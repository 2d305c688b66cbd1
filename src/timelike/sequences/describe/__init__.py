"""Descriptions, plots and suspicions of a collection: `describe`, `plot`, and figures that lie over each other."""
