"""The papers' tables, a folder for each paper; all are run by the one program of `resumable`.

One thread for every row, so that times can be compared: this is read when NumPy and torch are loaded, which is later.
"""

import os
import sys

if sys.argv[0] == "-m":  # a program is about to run; a test that imports one keeps its threads
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
