"""Numbers on prose pages, written from benchmark rows, benchmark pages and the library itself."""
