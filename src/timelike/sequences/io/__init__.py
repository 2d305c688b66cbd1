"""Loading of sequences from data set names, files, folders, patterns and tables, and the file formats."""
