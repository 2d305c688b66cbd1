"""Forecasts from many origins judged by what came: windows, refits, scores with intervals, and what is kept of them."""
