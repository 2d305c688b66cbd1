"""Small changes to the library, one at a time, and whether the tests of the changed package notice."""
