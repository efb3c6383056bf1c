"""Stops a process and continues it, as a debugger, a frozen container or a machine without memory does."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import contextmanager


@contextmanager
def stopped(process: subprocess.Popen):
    """A process that is stopped meanwhile."""
    process.send_signal(signal.SIGSTOP)
    # The kernel reports it once no thread runs any more; the end of the process is left to its owner.
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)
