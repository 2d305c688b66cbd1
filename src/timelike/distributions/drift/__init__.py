"""Drift: whether batches are still like a reference, with a false-alarm rate that holds over all looks."""
