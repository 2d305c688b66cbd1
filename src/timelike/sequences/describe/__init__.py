"""Summaries, quality checks and plots of a collection: `describe`, `plot`, and overlaid curves."""
