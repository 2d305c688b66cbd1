"""Tools that every package builds on: validation, parameters, random states, files, memory, threads, progress.

Nothing here imports another package of timelike. The package is not part of the public API.
"""
