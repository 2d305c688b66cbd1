"""Vectors of single images: the estimator and its networks."""
