"""Gaps and repeated stamps of recordings: found, filled where they are short, cut out, merged."""
