"""Simple, fast forecasters that are hard to beat."""
