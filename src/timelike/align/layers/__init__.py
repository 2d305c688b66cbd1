"""Alignments as torch modules: batches in, costs with gradients out."""

__all__: list[str] = []
