"""Runs a guest's benches, one after the other, each in a process of its own.

    python -m lab.benches [--only PATTERN] NAME[:MARK]...

The processes are forks of this one, which has loaded what all of them need: that takes an emulated processor longer than
the scenarios of some benches. The results of a bench are in /out/NAME.xml; the exit status is that of the first bench
that failed.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from lab import kernel_tests, relay
from lab.world import OUT

KERNEL_TESTS = "kernel-tests"
INTERRUPTED = int(pytest.ExitCode.INTERRUPTED)


def main(arguments: list[str]) -> int:
    only = None
    if arguments[:1] == ["--only"]:
        only, arguments = arguments[1], arguments[2:]
    relay.open_relay()
    status = 0
    for bench in arguments:
        print(f"--- {bench}", flush=True)
        its_status = run(lambda: work(bench, only))
        status = status or its_status
        if its_status == INTERRUPTED:
            break
    return status


def work(bench: str, only: str | None) -> int:
    """Runs one bench in this process."""
    if bench.split("/")[0] == KERNEL_TESTS:
        return kernel_tests.main(bench)
    name, _, mark = bench.partition(":")
    chosen = (["-k", only] if only else []) + (["-m", mark] if mark else [])
    return int(pytest.main(["-v", f"scenarios/{name}", *chosen, f"--junitxml={OUT / name}.xml"]))


def run(body: Callable[[], int]) -> int:
    """Runs a bench in a fork and waits for it. Nothing that it started is in the way of the next one."""
    before = processes()
    child = os.fork()
    if child == 0:
        become(body)
    # That is the guest's deadline: pytest then reports where it was.
    signal.signal(signal.SIGINT, lambda number, frame: os.kill(child, number))
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for process in processes() - before:
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:  # it has ended meanwhile
            pass
    return status if status >= 0 else 128 - status


def become(body: Callable[[], int]) -> None:
    status = 1
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        status = body()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def processes() -> set[int]:
    return {int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
