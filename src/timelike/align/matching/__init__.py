"""Subsequence search: in recordings, in live streams, and the matrix profile."""
