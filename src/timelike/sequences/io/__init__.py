"""Names, paths, patterns, folders and lists → Sequences: which files are meant, fetched, and read side by side."""
