"""Speed beside other libraries, a table for each program.

Everybody has as many threads as `--threads` says, otherwise one: the libraries read this when they are loaded, later.
"""

import os
import sys

THREADS = sys.argv[sys.argv.index("--threads") + 1] if "--threads" in sys.argv[:-1] else "1"
for _library in ("OMP", "OPENBLAS", "NUMBA", "RAYON"):
    os.environ[f"{_library}_NUM_THREADS"] = THREADS
