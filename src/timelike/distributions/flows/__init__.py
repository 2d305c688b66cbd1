"""Particles, or a generator network, moved onto a sample by the gradients of a discriminator."""
