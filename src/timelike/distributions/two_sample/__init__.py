"""Exact tests of two samples: permutation of items and groups, kernels, classifiers."""
