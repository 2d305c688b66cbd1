"""Descriptions, plots and suspicions of a collection: `describe`, `plot`, sparklines for notebooks."""
