"""Frames that are learned through an aligner with a gradient: estimator and network."""
