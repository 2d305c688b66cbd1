"""Classifiers and regressors on the vectors of an encoder."""
