"""Separation of variables: a constant content, and a state that evolves by a learned equation."""
