"""What is in a collection, in words, numbers and pictures, and what looks wrong about it."""
