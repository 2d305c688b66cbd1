"""Vectors of single images: estimator, and its networks."""
