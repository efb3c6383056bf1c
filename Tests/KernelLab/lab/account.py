"""Accounts of a long run: the numbers received, the missing ones and their explanation, and a process's resources."""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Account:
    """An account of numbers that were sent as 1, 2, 3 …"""

    received: int
    gaps: list[dict]  # the description of each gap, and how many numbers are `missing` there

    @property
    def missing(self) -> int:
        return sum(gap["missing"] for gap in self.gaps)


def account(records: list[dict]) -> Account:
    """The account of the output of `ble notify --json`. A number that is missing without a gap, or comes twice, is an
    error."""
    last = received = 0
    gaps: list[dict] = []
    open_gap: dict | None = None
    for record in records:
        if "gap" in record:
            assert open_gap is None, f"two gaps without a value between them, after {last}: {open_gap}, {record}"
            open_gap = dict(record["gap"])
            continue
        number = int.from_bytes(bytes.fromhex(record["value"]), "little")
        missing = number - last - 1
        assert missing == 0 or (open_gap is not None and missing > 0), f"{number} follows {last}"
        if open_gap is not None:
            gaps.append(open_gap | {"missing": missing})
        open_gap, last, received = None, number, received + 1
    return Account(received, gaps)


@dataclass
class Holding:
    """The resources of a process at a moment."""

    seconds: float
    resident: int  # KiB
    files: tuple[str, ...]  # what its descriptors refer to
    threads: int

    @property
    def descriptors(self) -> int:
        return len(self.files)

    def __str__(self):
        return f"{self.resident} KiB, {self.descriptors} descriptors, {self.threads} threads"


def holding(process: int, seconds: float) -> Holding:
    status = dict(line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
    # Anonymous memory only: pages shared with the program's file are loaded as needed.
    return Holding(seconds, int(status["RssAnon"].split()[0]), descriptors(process), int(status["Threads"]))


def descriptors(process: int) -> tuple[str, ...]:
    """What the descriptors of a process refer to, sorted: a socket by its kind, a file by its path. Leaves out what
    libdispatch opens for a moment, once a second, to count the running threads."""
    links = []
    for entry in Path(f"/proc/{process}/fd").iterdir():
        # A descriptor may be closed between the two calls.
        with contextlib.suppress(FileNotFoundError):
            links.append(os.readlink(entry))
    kinds = socket_kinds()
    return tuple(sorted(kinds.get(link) or re.sub(r":\[\d+\]$", "", link) for link in links if not link.startswith("/proc/")))


def socket_kinds() -> dict[str, str]:
    """The kind of each socket, by the link of its descriptor. The management socket is one of `hci`; a socket that is
    just being closed is no longer in any table, and stays a "socket".
    """
    kinds = {}
    for kind in ("hci", "l2cap", "unix"):
        with contextlib.suppress(FileNotFoundError):
            header, *rows = Path(f"/proc/net/{kind}").read_text().splitlines()
            column = header.split().index("Inode")
            kinds |= {f"socket:[{row.split()[column]}]": f"{kind} socket" for row in rows}
    return kinds


def difference(before: tuple[str, ...], after: tuple[str, ...]) -> str:
    """The descriptors that a process opened and closed between two snapshots, by name; empty if none."""
    told = {"opened": Counter(after) - Counter(before), "closed": Counter(before) - Counter(after)}
    return "; ".join(f"{word} {', '.join(names.elements())}" for word, names in told.items() if names)
