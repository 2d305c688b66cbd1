"""A process that is met with Ctrl-C in the middle of its work."""

import signal
import subprocess
import sys
import time

_HANGS = 100.0  # seconds: a job that hears nothing takes longer, one that does not ends within them on any machine


def end_by_ctrl_c(program):
    """Meet a process with SIGINT in the middle of its work, and see it end; `benchmarks.faults` measures how soon."""
    worker = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert worker.stdout.readline().strip() == "ready"
    time.sleep(0.5)
    worker.send_signal(signal.SIGINT)
    try:
        _, said = worker.communicate(timeout=_HANGS)
    finally:
        worker.kill()
    assert "KeyboardInterrupt" in said
