"""Speed beside other libraries, a table for each program.

Everybody has as many threads as `--threads` says, otherwise one: the libraries read this when they are loaded, later.
"""

import argparse
import os

_parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
_parser.add_argument("--threads", default="1")
THREADS: str = _parser.parse_known_args()[0].threads
for _library in ("OMP", "OPENBLAS", "NUMBA", "RAYON"):
    os.environ[f"{_library}_NUM_THREADS"] = THREADS
