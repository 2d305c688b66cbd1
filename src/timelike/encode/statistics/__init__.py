"""Vectors of plain statistics: moments, quantiles, slopes, autocorrelations and spectra."""
