"""Boots one guest per kernel and bench, and judges what each brings out. Exit status 1 where anything is wrong.

A bench is a folder of scenarios, run in a guest of its own so that it finds a fresh kernel; `kernel-tests` are the suites
of the package's own test binary instead.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import functools
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from host import matrix, table
from host.verdict import Verdict, judge

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT.parent.parent
KERNEL_TESTS = "kernel-tests"
RUNS_KEPT = 10
SECONDS_KEPT = 3 * 3600
SELF_TEST = "peers"
# Debian 13's, on its kernel, before all benches that use one.
NEWER_BLUETOOTHD, LINE_OF_NEWER_BLUETOOTHD, BLUETOOTHD_MARK = "5.82", "6.12", "bluetoothd"
ZOO, MATRIX, HARDSHIPS, THREATS, ESSENTIAL = "zoo", "matrix", "hardships", "threats", "essential"
# Everything that involves the kernel, if the rest has run on another one.
KERNEL_TAKES_PART = "not program"
# Alone, and only if the variable is set: other work would be measured too, or it changes the toolchain.
ON_REQUEST = {"speed": "LAB_SPEED", "deployment": "LAB_DEPLOYMENT"}
# The guest's own deadline: far beyond what a busy machine needs, since it only ends what hangs. A variable changes it,
# for testing the lab itself.
SECONDS = int(os.environ.get("BLESTREAMS_LAB_SECONDS", "2400"))
# Guests spend much of their time waiting for the kernel's own timers, so two processors are enough for four guests.
GUESTS_AT_ONCE = 4
# The longest come first, so that none runs alone at the end.
LONGEST = ("sessions", "hour", "ble", "field", "bonds", "serve", KERNEL_TESTS, "bluetoothd")
# The number of guests for a bench that is run whole: each must end long before its deadline.
PARTS = {ZOO: 3, MATRIX: 6}


@dataclass(frozen=True)
class Guest:
    """One guest to be booted: a kernel, and a bench or the marked tests of one."""

    line: str
    mark: str  # only tests with this mark, as pytest's -m takes it; empty: all
    bench: str
    expected: list[str]
    bluetoothd: str = ""  # the release, if it isn't this machine's
    part: str = ""  # I/N: of the zoo's profiles, or the matrix's parts, every Nth from the Ith on

    @property
    def folder(self) -> str:
        return f"{self.line}-{self.title.replace('/', '-').replace(' ', '-')}"

    @property
    def rank(self) -> tuple[int, int]:
        """Whole long benches first, then by the number of scenarios."""
        is_long = self.bench in LONGEST and self.mark in ("", KERNEL_TAKES_PART) and not self.bluetoothd
        return LONGEST.index(self.bench) if is_long else len(LONGEST), -len(self.expected)

    @property
    def title(self) -> str:
        """The bench, and what distinguishes this guest."""
        part = f" {self.part.replace('/', ' of ')}" if self.part else ""
        return self.bench + part + (f" with bluetoothd {self.bluetoothd}" if self.bluetoothd else "")


def guests_of(line: str, only: str | None, self_test: bool) -> list[Guest]:
    """The guests for a kernel, written as LINE or LINE:MARK; the mark applies if nothing else was chosen."""
    line, _, mark = line.partition(":")
    if only or self_test:
        mark = ""
    chosen = benches(only, self_test, mark)
    guests = [Guest(line, mark_of(bench, only, mark), bench, tests) for bench, tests in chosen.items()]
    if line == LINE_OF_NEWER_BLUETOOTHD and not (only or self_test or mark or os.environ.get("LAB_BLUETOOTHD")):
        guests += [
            Guest(line, BLUETOOTHD_MARK, bench, tests, NEWER_BLUETOOTHD)
            for bench, tests in benches(None, False, BLUETOOTHD_MARK).items()
        ]
    return guests


def whole_of(bench: str, line: str, only: str | None) -> list[Guest]:
    """The guests for the whole zoo or matrix on a kernel, or for its matching part."""
    line = line.partition(":")[0]
    parts = [f"{number}/{PARTS[bench]}" for number in range(PARTS[bench])] if not only else [""]
    guests = [Guest(line, "", bench, collect(bench, only, "", part), part=part) for part in parts]
    return [guest for guest in guests if guest.expected]


def benches(only: str | None, self_test: bool, mark: str) -> dict[str, list[str]]:
    """The tests to run, by bench. The names of the kernel tests are not known beforehand."""
    chosen: dict[str, list[str]] = {}
    if only and only.split("/")[0] == KERNEL_TESTS:
        return {only: []}
    for folder in sorted(path.name for path in (ROOT / "scenarios").iterdir() if path.is_dir()):
        if folder.startswith("_") or (self_test and folder != SELF_TEST):
            continue
        if folder in ON_REQUEST and not os.environ.get(ON_REQUEST[folder]):
            continue
        if tests := collect(folder, only, mark_of(folder, only, mark)):
            chosen[folder] = tests
    if not only and not self_test and mark in ("", KERNEL_TAKES_PART):
        chosen[KERNEL_TESTS] = []
    return chosen


def mark_of(folder: str, only: str | None, mark: str) -> str:
    """The run's mark; ordinary runs include only a part of the zoo, the matrix, the hardships and the threats."""
    is_part = folder in (ZOO, MATRIX, HARDSHIPS, THREATS) and not only and mark in ("", KERNEL_TAKES_PART)
    return " and ".join(filter(None, [ESSENTIAL if is_part else "", mark]))


def collect(folder: str, only: str | None, mark: str, part: str = "") -> list[str]:
    """The tests of a bench to run."""
    return [test for test in collect_all(only, mark, part) if test.startswith(f"scenarios/{folder}/")]


@functools.cache
def collect_all(only: str | None, mark: str, part: str) -> list[str]:
    """The tests of all benches: collecting one bench at a time takes longer than running some of them."""
    command = [sys.executable, "-B", "-m", "pytest", "--collect-only", "-q", "scenarios"]
    command += (["-k", only] if only else []) + (["-m", mark] if mark else [])
    environment = os.environ | {"LAB_PART": part}
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    if result.returncode not in (0, 5):  # 5: nothing collected
        sys.exit(f"lab: the scenarios can't be read\n{result.stdout}{result.stderr}")
    return [line for line in result.stdout.splitlines() if "::" in line and not line.startswith(("=", " "))]


def guest_script(cache: Path, guest: Guest, only: str | None) -> str:
    """The content of /out/bench: the environment, then guest/bench."""
    environment = {
        "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin",
        "HOME": str(Path.home()),
        "LANG": "C.UTF-8",
        "LAB_ROOT": str(ROOT),
        "LAB_CACHE": str(cache),
        "LAB_KERNEL": guest.line,
        "LAB_MARK": guest.mark,
        "LAB_PRODUCTS": os.environ.get("LAB_PRODUCTS") or str(PACKAGE / ".build" / "debug"),
        "LAB_BLUETOOTHD": os.environ.get("LAB_BLUETOOTHD", "") or guest.bluetoothd,
        "LAB_PART": guest.part,
        "LAB_PROFILE": os.environ.get("LAB_PROFILE", ""),
        "LAB_HOUR": os.environ.get("LAB_HOUR", ""),
        "LAB_HARDSHIPS": os.environ.get("LAB_HARDSHIPS", ""),
        "LAB_SPEED": os.environ.get("LAB_SPEED", ""),
        "LAB_BLE": os.environ.get("LAB_BLE", ""),
    }
    bench = [guest.bench] + ([only] if only else [])
    if guest.bench.startswith(KERNEL_TESTS):
        bench = [KERNEL_TESTS, guest.bench]
    lines = ["#!/bin/bash"]
    lines += [f"export {name}={shlex.quote(value)}" for name, value in environment.items()]
    lines += ["exec " + shlex.join([f"{ROOT}/guest/bench", *bench])]
    return "\n".join(lines) + "\n"


def boot(cache: Path, guest: Guest, only: str | None, out: Path, is_live: bool) -> None:
    """Runs one guest to its end, showing its output live if no other guest runs."""
    script = out / "bench"
    script.write_text(guest_script(cache, guest, only))
    script.chmod(0o755)
    log = out / "log"
    log.touch()
    machine = subprocess.Popen([str(ROOT / "host" / "boot"), str(cache), guest.line, str(SECONDS), str(out)])
    if not is_live:
        machine.wait()
        return
    try:
        with log.open(errors="replace") as output:
            while machine.poll() is None:
                sys.stdout.write(output.read())
                sys.stdout.flush()
                time.sleep(0.2)
            sys.stdout.write(output.read())
    except KeyboardInterrupt:
        machine.wait()  # the terminal's Ctrl-C has reached it too
        raise


def examine(cache: Path, guest: Guest, only: str | None, out: Path, is_live: bool) -> Verdict:
    """Runs one bench on one kernel and prints the result."""
    out.mkdir()
    start = time.monotonic()
    title = f"\n=== {guest.title} on Linux {guest.line}\n"
    if is_live:
        print(title, end="", flush=True)
    boot(cache, guest, only, out, is_live)
    verdict = judge(out, guest.line, guest.title, guest.expected, time.monotonic() - start)
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
            print(f"TROUBLE on {verdict.line_name}, {verdict.bench}: {trouble}")
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
