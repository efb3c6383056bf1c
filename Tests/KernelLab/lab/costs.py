"""What a process costs, and the report of what was measured; for the bench `speed`."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

from lab.ble import PROGRAM as BLE
from lab.world import OUT, Process

# The release build of the package's benchmarks.
PROGRAM = Path(os.environ.get("LAB_PRODUCTS", "/nowhere")).resolve().parent / "release" / "Benchmarks"


def say(text: str) -> None:
    """A line of the report, which is printed when the guest has ended."""
    with (OUT / "report").open("a") as report:
        print(text, file=report)


def record_run(name: str, run: dict) -> None:
    """A single run, for who wants to know more than medians, or has a run that did not come to its end."""
    with (OUT / "runs.log").open("a") as log:
        print(json.dumps({"client": name} | run), file=log)


def spent(process: Process) -> float:
    """User and system time of a process so far, seconds. The name in its second field may contain anything but the last `)`."""
    fields = Path(f"/proc/{process.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(process: Process) -> tuple[float, float]:
    """The memory that a process has in use, and what of it is no file's, MiB."""
    fields = Path(f"/proc/{process.process.pid}/status").read_text().split()
    resident, own = (int(fields[fields.index(name) + 1]) / 1024 for name in ("VmRSS:", "RssAnon:"))
    return resident, own


def spread(figures: list[float], unit: str, places: int = 2) -> str:
    """The median of some figures, with the least and the most."""
    return (
        f"{statistics.median(figures):,.{places}f}{unit} ({min(figures):,.{places}f} … {max(figures):,.{places}f})"
    )


def run_ble(*arguments: str, piped: bool) -> tuple[float, list[dict]]:
    """Runs the command to its end, with its output in a file in memory or read from a pipe.

    Returns the seconds of processor time that it took, start-up included, and the lines of JSON that it printed.
    """
    with tempfile.TemporaryFile(dir="/dev/shm") as file:
        process = subprocess.Popen(
            [str(BLE), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE if piped else file
        )
        while piped and (octets := os.read(process.stdout.fileno(), 1 << 16)):
            file.write(octets)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, f"{arguments}: status {process.returncode}"
        file.seek(0)
        return usage.ru_utime + usage.ru_stime, [json.loads(line) for line in file]
