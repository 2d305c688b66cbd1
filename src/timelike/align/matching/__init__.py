"""One sequence found inside another: subsequences, live streams, and the matrix profile."""
