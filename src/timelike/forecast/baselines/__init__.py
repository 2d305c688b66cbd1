"""Forecasters that are simple, quick and hard to beat."""
