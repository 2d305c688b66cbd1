"""Whatever the caller has → checked arrays and labels."""
