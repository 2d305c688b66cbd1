"""Verifier: estimator, scores and their normalization, trials and thresholds, evaluation, and a stream."""
