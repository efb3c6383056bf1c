"""Decides which guests are booted, and what each of them runs.

A bench is a folder of scenarios; `kernel-tests` are the suites of the package's own test binary instead. A guest with its
libraries takes an emulated processor half a minute before the first scenario begins, so benches share one, each in a
process of its own: all of a kernel are in two guests that take about equally long.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KERNEL_TESTS = "kernel-tests"
SELF_TEST = "peers"
# Debian 13's, on its kernel, for all scenarios that meet one.
NEWER_BLUETOOTHD, LINE_OF_NEWER_BLUETOOTHD, BLUETOOTHD_MARK = "5.82", "6.12", "bluetoothd"
ZOO, MATRIX, HARDSHIPS, THREATS, ESSENTIAL = "zoo", "matrix", "hardships", "threats", "essential"
# Everything that involves the kernel, if the rest has run on another one.
KERNEL_TAKES_PART = "(not program or main_job)"
# Alone, and only if the variable is set: other work would be measured too, or it changes the toolchain.
ON_REQUEST = {"speed": "LAB_SPEED", "deployment": "LAB_DEPLOYMENT"}
# The benches that share the first of a kernel's two guests; all others share the second. Each has about half of the work.
FIRST = ("ble", "hour", "serve", "sessions")
# The number of guests for a bench that is run whole: each must end long before its deadline.
PARTS = {ZOO: 3, MATRIX: 6}


@dataclass(frozen=True)
class Bench:
    name: str
    mark: str  # only tests with this mark, as pytest's -m takes it; empty: all
    expected: tuple[str, ...] = ()  # the tests that must leave a result

    @property
    def is_kernel_tests(self) -> bool:
        return self.name.split("/")[0] == KERNEL_TESTS

    @property
    def is_first(self) -> bool:
        """Whether the first of the kernel's guests runs it, which none does of which only a part runs."""
        return self.name in FIRST and self.mark in ("", KERNEL_TAKES_PART)


@dataclass(frozen=True)
class Guest:
    """One guest to be booted: a kernel, and the benches that it runs in their order."""

    line: str
    benches: tuple[Bench, ...]
    bluetoothd: str = ""  # the release, if it isn't this machine's
    part: str = ""  # I/N: of the zoo's profiles, or the matrix's parts, every Nth from the Ith on
    share: str = ""  # I/N: the Ith of N shares of the scenarios, beside the main job

    @property
    def title(self) -> str:
        """The benches, and what distinguishes this guest."""
        part = f" {self.part.replace('/', ' of ')}" if self.part else ""
        daemon = f" with bluetoothd {self.bluetoothd}" if self.bluetoothd else ""
        share = f" share {self.share.replace('/', ' of ')}" if self.share else ""
        return ", ".join(bench.name for bench in self.benches) + part + daemon + share

    @property
    def folder(self) -> str:
        return f"{self.line}-{self.title}".replace(", ", "+").replace("/", "-").replace(" ", "-")

    @property
    def rank(self) -> int:
        """The guests with the most scenarios come first, so that none of them runs alone at the end."""
        return -sum(len(bench.expected) for bench in self.benches)


def guests_of(line: str, only: str | None, self_test: bool) -> list[Guest]:
    """The guests for a kernel, written as LINE or LINE:MARK; the mark applies if nothing else was chosen."""
    line, _, mark = line.partition(":")
    if only or self_test:
        mark = ""
    wanted = os.environ.get("LAB_SHARE", "")
    share = wanted if mark == KERNEL_TAKES_PART else ""
    chosen = benches(only, self_test, mark, share)
    # What was chosen by hand runs in one, and so does a share.
    parts = [(True, False)] if only or share else [(True,), (False,)]
    groups = [tuple(bench for bench in chosen if bench.is_first in part) for part in parts]
    guests = [Guest(line, group, share=share) for group in groups if group]
    if line == LINE_OF_NEWER_BLUETOOTHD and not (only or self_test or mark or os.environ.get("LAB_BLUETOOTHD")):
        again = tuple(benches(None, False, BLUETOOTHD_MARK, wanted))
        guests.append(Guest(line, again, NEWER_BLUETOOTHD, share=wanted))
    return guests


def whole_of(bench: str, line: str, only: str | None) -> list[Guest]:
    """The guests for the whole zoo or matrix on a kernel, or for its matching part."""
    line = line.partition(":")[0]
    parts = [f"{number}/{PARTS[bench]}" for number in range(PARTS[bench])] if not only else [""]
    guests = [Guest(line, (Bench(bench, "", collect(bench, only, "", part)),), part=part) for part in parts]
    return [guest for guest in guests if guest.benches[0].expected]


def benches(only: str | None, self_test: bool, mark: str, share: str = "") -> list[Bench]:
    """The benches to run. The names of the kernel tests are not known beforehand."""
    if only and only.split("/")[0] == KERNEL_TESTS:
        return [Bench(only, "")]
    chosen: list[Bench] = []
    for folder in sorted(path.name for path in (ROOT / "scenarios").iterdir() if path.is_dir()):
        if folder.startswith("_") or (self_test and folder != SELF_TEST):
            continue
        if folder in ON_REQUEST and not os.environ.get(ON_REQUEST[folder]):
            continue
        its_mark = mark_of(folder, only, mark)
        if tests := collect(folder, only, its_mark, share=share):
            chosen.append(Bench(folder, its_mark, tests))
    if not only and not self_test and mark in ("", KERNEL_TAKES_PART) and not os.environ.get("LAB_SCENARIOS"):
        chosen.append(Bench(KERNEL_TESTS, ""))
    return chosen


def mark_of(folder: str, only: str | None, mark: str) -> str:
    """The run's mark; ordinary runs include only a part of the zoo, the matrix, the hardships and the threats."""
    is_part = folder in (ZOO, MATRIX, HARDSHIPS, THREATS) and not only and mark in ("", KERNEL_TAKES_PART)
    return " and ".join(filter(None, [ESSENTIAL if is_part else "", mark]))


def collect(folder: str, only: str | None, mark: str, part: str = "", share: str = "") -> tuple[str, ...]:
    """The tests of a bench to run."""
    return tuple(test for test in collect_all(only, mark, part, share) if test.startswith(f"scenarios/{folder}/"))


@functools.cache
def collect_all(only: str | None, mark: str, part: str, share: str) -> list[str]:
    """The tests of all benches: collecting one bench at a time takes longer than running some of them."""
    command = [sys.executable, "-B", "-m", "pytest", "--collect-only", "-q", "scenarios"]
    command += (["-k", only] if only else []) + (["-m", mark] if mark else [])
    environment = os.environ | {"LAB_PART": part, "LAB_SHARE": share}
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    if result.returncode not in (0, 5):  # 5: nothing collected
        sys.exit(f"lab: the scenarios can't be read\n{result.stdout}{result.stderr}")
    return [line for line in result.stdout.splitlines() if "::" in line and not line.startswith(("=", " "))]
