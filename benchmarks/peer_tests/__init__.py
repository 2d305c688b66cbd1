"""What the tests of other libraries expect, as calls of ours: a file per library, and the program that records it."""
