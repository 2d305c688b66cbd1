"""Prototypes with a learned similarity: encoder, similarity and prototypes that are trained together."""
