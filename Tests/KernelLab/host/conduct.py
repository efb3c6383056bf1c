"""Boots the guests of host/plan.py, and judges what each brings out. Exit status 1 where anything is wrong."""

from __future__ import annotations

import argparse
import concurrent.futures
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from host import matrix, table
from host.plan import MATRIX, ROOT, ZOO, Guest, guests_of, whole_of
from host.verdict import Verdict, judge

PACKAGE = ROOT.parent.parent
RUNS_KEPT = 10
SECONDS_KEPT = 3 * 3600
# The guest's own deadline: far beyond what a busy machine needs, since it only ends what hangs. A variable changes it,
# for testing the lab itself.
SECONDS = int(os.environ.get("BLESTREAMS_LAB_SECONDS", "7200"))
# Guests spend half of their time waiting for the kernel's own timers, so two processors are enough for the four long ones
# of a whole run, and for the short ones that take turns beside them.
GUESTS_AT_ONCE = 5


def guest_script(cache: Path, guest: Guest, only: str | None) -> str:
    """The content of /out/bench: the environment, then guest/bench."""
    environment = {
        "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin",
        "HOME": str(Path.home()),
        "LANG": "C.UTF-8",
        "LAB_ROOT": str(ROOT),
        "LAB_CACHE": str(cache),
        "LAB_KERNEL": guest.line,
        "LAB_PRODUCTS": os.environ.get("LAB_PRODUCTS") or str(PACKAGE / ".build" / "debug"),
        "LAB_BLUETOOTHD": os.environ.get("LAB_BLUETOOTHD", "") or guest.bluetoothd,
        "LAB_PART": guest.part,
        "LAB_SHARE": guest.share,
        "LAB_PROFILE": os.environ.get("LAB_PROFILE", ""),
        "LAB_HOUR": os.environ.get("LAB_HOUR", ""),
        "LAB_HARDSHIPS": os.environ.get("LAB_HARDSHIPS", ""),
        "LAB_SPEED": os.environ.get("LAB_SPEED", ""),
        "LAB_BLE": os.environ.get("LAB_BLE", ""),
    }
    benches = [f"{bench.name}:{bench.mark}" if bench.mark else bench.name for bench in guest.benches]
    command = [f"{ROOT}/guest/bench", *(["--only", only] if only else []), *benches]
    lines = ["#!/bin/bash"]
    lines += [f"export {name}={shlex.quote(value)}" for name, value in environment.items()]
    lines += ["exec " + shlex.join(command)]
    return "\n".join(lines) + "\n"


def boot(cache: Path, guest: Guest, only: str | None, out: Path, is_live: bool) -> None:
    """Runs one guest to its end, showing its output live if no other guest runs."""
    script = out / "bench"
    script.write_text(guest_script(cache, guest, only))
    script.chmod(0o755)
    log = out / "log"
    log.touch()
    inside, outside = socket.socketpair()
    with inside, outside, (out / "nursery").open("w") as said:
        nursery = [sys.executable, "-B", "-m", "host.nursery", str(outside.fileno())]
        peers = subprocess.Popen(nursery, cwd=ROOT, pass_fds=[outside.fileno()], stdout=said, stderr=said)
        end = str(inside.fileno())
        command = [str(ROOT / "host" / "boot"), str(cache), guest.line, str(SECONDS), str(out), end]
        machine = subprocess.Popen(command, pass_fds=[inside.fileno()])
    try:
        with log.open(errors="replace") as output:
            while machine.poll() is None:
                show(output.read(), guest, is_live)
                time.sleep(0.2)
            show(output.read(), guest, is_live)
    except KeyboardInterrupt:
        machine.wait()  # the terminal's Ctrl-C has reached it too
        raise
    finally:
        peers.wait()  # it has lost its guest


def show(said: str, guest: Guest, is_live: bool) -> None:
    """Prints what a guest has said. Of one among others that's only which bench begins; its log follows at its end."""
    if not is_live:
        benches = re.findall(r"^--- (.*)\n", said, re.MULTILINE)
        said = "".join(f"lab: {guest.line} begins {bench}\n" for bench in benches)
    if said:
        print(said, end="", flush=True)


def examine(cache: Path, guest: Guest, only: str | None, out: Path, is_live: bool) -> Verdict:
    """Runs one guest and prints the result."""
    out.mkdir()
    start = time.monotonic()
    title = f"\n=== {guest.title} on Linux {guest.line}\n"
    if is_live:
        print(title, end="", flush=True)
    boot(cache, guest, only, out, is_live)
    verdict = judge(out, guest, time.monotonic() - start)
    said = "" if is_live else title + (out / "log").read_text(errors="replace")
    report = out / "report"
    if report.exists():
        said += report.read_text(errors="replace")
    # One call: two guests may end at the same time.
    print(said + verdict.report(), flush=True)
    return verdict


def new_results(cache: Path) -> Path:
    """A folder for this run's logs. The latest earlier runs that failed or were kept remain."""
    runs = sorted(cache.glob("run.*"), key=lambda path: path.stat().st_mtime)
    for run in runs[:-RUNS_KEPT]:
        # A younger one may still be running: it belongs to another lab on the same cache.
        if time.time() - run.stat().st_mtime > SECONDS_KEPT:
            shutil.rmtree(run, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix="run.", dir=cache))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--only")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--zoo", action="store_true")
    parser.add_argument("--matrix", action="store_true")
    parser.add_argument("--accept", action="store_true")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("lines", nargs="+")
    options = parser.parse_args()

    if whole := ZOO if options.zoo else MATRIX if options.matrix else None:
        guests = [guest for line in options.lines for guest in whole_of(whole, line, options.only)]
    else:
        guests = [guest for line in options.lines for guest in guests_of(line, options.only, options.self_test)]
    if not guests:
        print(f"lab: no scenario matches '{options.only}'", file=sys.stderr)
        return 1
    results = new_results(options.cache)
    guests.sort(key=lambda guest: guest.rank)
    is_live = len(guests) == 1
    with concurrent.futures.ThreadPoolExecutor(GUESTS_AT_ONCE) as pool:
        waiting = [
            pool.submit(examine, options.cache, guest, options.only, results / guest.folder, is_live)
            for guest in guests
        ]
        try:
            verdicts = [verdict.result() for verdict in waiting]
        except KeyboardInterrupt:
            pool.shutdown(wait=True, cancel_futures=True)  # the terminal's Ctrl-C has reached the guests too
            raise

    print("\n=== Kernel lab")
    for verdict in verdicts:
        print(verdict.line())
    # Again after the table, for readers who see only the end of a long log.
    for verdict in verdicts:
        for trouble in verdict.troubles:
            print(f"TROUBLE on {verdict.guest.line}, {trouble}")
    good = all(verdict.good for verdict in verdicts)
    if options.matrix:
        good &= matrix.settle([results / guest.folder for guest in guests], options.accept)
    if options.zoo:
        good &= table.settle([results / guest.folder for guest in guests], options.accept)
    if good and not options.keep:
        shutil.rmtree(results)
    else:
        print(f"logs: {results}")
    return 0 if good else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
