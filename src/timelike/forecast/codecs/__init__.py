"""Frames to codes and codes to frames: perceptrons for vectors, convolutions for pictures."""
