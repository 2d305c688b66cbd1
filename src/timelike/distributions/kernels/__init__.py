"""Kernels of vectors and of sequences: k(x, y), the similarity of two items."""
