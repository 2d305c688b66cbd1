"""Cleaning of recordings: gaps, interpolation, resampling and duplicate timestamps."""
