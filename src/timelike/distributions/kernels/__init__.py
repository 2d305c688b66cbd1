"""Kernels: how alike two items are, k(x, y), of vectors and of sequences."""
