"""Backtests: forecasts from many origins, refits, and scores with intervals."""
