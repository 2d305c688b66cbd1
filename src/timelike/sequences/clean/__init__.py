"""Cleaning of recordings: gaps are found, filled or cut out, duplicate timestamps merged, samples evenly spaced."""
