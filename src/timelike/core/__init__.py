"""What every package builds on and that knows nothing of sequences: validation, parameters, files, threads,
progress.
"""
