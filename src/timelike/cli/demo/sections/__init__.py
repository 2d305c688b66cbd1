"""The sections of the demo, one file each, in the order of `CHAPTERS`."""
