"""Discrepancies of two samples: maximum mean discrepancy, energy distance, Sinkhorn divergence."""
