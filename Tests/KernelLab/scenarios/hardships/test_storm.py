"""What a central does that means no good: PDUs of chance, connections that end at once, and a CCCD that is switched on
and off. Another one finds all as before, and the command has grown by nothing. `run --hardships` has all of it; every
other run a twentieth."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from lab import names
from lab.account import descriptors, difference
from lab.ends import ThreadEnds
from lab.peer import PATIENCE
from lab.world import OUT

SEED = 20261124
SHARE = 1 if os.environ.get("LAB_HARDSHIPS") else 20
PDUS, VISITS, TOGGLES = 20_000 // SHARE, 100 // SHARE, 1_000 // SHARE
# What an allocator may keep for itself, KiB: a leak of one octet for each of 20,000 PDUs would be 20, of one object 2,000.
GROWTH = 2_048
LISTENER = "l2cap socket"


def memory(pid: int) -> int:
    """How much memory a process has, KiB."""
    return int(re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())[1])


def settled(pid: int, before: tuple[str, ...] | None = None) -> tuple[str, ...]:
    """What the descriptors of a process are that serves nobody: as `before`, or with no socket of a link. On 6.1 a thread
    of its own closes those (`KernelFaults`); what it is late with is waited for until it ends."""

    def wrong(files: tuple[str, ...]) -> str:
        if before is not None:
            return difference(before, files)
        return difference((LISTENER,), tuple(name for name in files if name in (LISTENER, "socket")))

    with ThreadEnds(pid) as ends:
        assert ends.wait_until(lambda: not wrong(descriptors(pid))), wrong(descriptors(pid))
    return descriptors(pid) if before is None else before


class Visited:
    """A run of `ble serve`, and how many links it has had."""

    def __init__(self, place, served):
        self.place, self.peer, self.served = place, place.peer, served
        self.pid = served.run.process.pid
        self.links = 0

    def left(self, links: int = 1) -> None:
        """So many links more have been made and have ended: it says so."""
        self.links += links
        self.served.wait_count("disconnected", self.links)

    def storm(self, seed: int, count: int) -> dict[str, int]:
        words = self.peer.command(f"storm 0 {self.place.address} {seed} {count}", within=10 * PATIENCE)
        counts = {name: int(number) for name, _, number in (word.partition("=") for word in words.split())}
        self.left(1 + counts["drops"])
        return counts

    def behave(self, round: int) -> None:
        """A central that means well connects, discovers, reads, writes, subscribes and receives."""
        peer, value = self.peer, f"c0ffee{round:02x}"
        peer.command(f"connect 1 {self.place.address}")
        assert names.full(names.VALUE) in peer.command("tree 1")
        mark = peer.mark()
        for uuid in (names.VALUE, names.NUMBERS):
            peer.command(f"subscribe 1 {uuid}")
        peer.command(f"write 1 {names.VALUE} {value}")
        peer.wait("notified", mark, central="1", hex=value)
        peer.wait("notified", mark, central="1", uuid=names.full(names.NUMBERS))
        assert peer.command(f"read 1 {names.VALUE}") == value
        peer.command("leave 1")
        self.left()


@pytest.mark.essential
def test_a_storm_of_pdus_connections_and_subscriptions_leaves_nothing(place, ble, database):
    peer = place.peer
    with place.serving(ble, "--database", database) as served:
        visited = Visited(place, served)
        pid = visited.pid
        # Each way of behaving, well and badly, has been gone once: what is made for the first time isn't counted.
        visited.behave(0)
        visited.storm(SEED + 1, 500)
        visited.behave(1)
        files, sizes = settled(pid), [memory(pid)]

        counts = visited.storm(SEED, PDUS)
        settled(pid, files)
        sizes.append(memory(pid))
        peer.command(f"visit 0 {place.address} {VISITS}", within=10 * PATIENCE)
        visited.left(VISITS)
        settled(pid, files)
        sizes.append(memory(pid))
        peer.command(f"connect 0 {place.address}")
        peer.command(f"toggle 0 {names.VALUE} {TOGGLES}", within=10 * PATIENCE)
        peer.command("leave 0")
        visited.left()
        visited.behave(2)
        settled(pid, files)
        sizes.append(memory(pid))
        told = " ".join(f"{name}={count}" for name, count in counts.items())
        with (OUT / "report").open("a") as report:
            print(
                f"{PDUS} PDUs ({told}), {VISITS} connections, {TOGGLES} toggles: {len(files)} descriptors all the time; KiB "
                f"before, after the PDUs, the connections, the toggles: {', '.join(map(str, sizes))}",
                file=report,
            )
        assert counts["sent"] == PDUS and counts["unanswered"] == 0, counts
        assert counts["answered"] > PDUS // 2 and counts["drops"] == 0, counts
        assert sizes[-1] <= sizes[0] + GROWTH, sizes
        assert len([event for event in served.events if event["event"] == "connected"]) == VISITS + 6
