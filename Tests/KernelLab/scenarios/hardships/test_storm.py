"""What a central does that means no good: PDUs of chance, connections that end at once, and a CCCD that is switched on
and off. Another one finds all as before, and the command has grown by nothing. `run --hardships` has all of it; every
other run a twentieth."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from lab import names
from lab.peer import PATIENCE
from lab.world import OUT

SEED = 20261124
SHARE = 1 if os.environ.get("LAB_HARDSHIPS") else 20
PDUS, VISITS, TOGGLES = 20_000 // SHARE, 100 // SHARE, 1_000 // SHARE
# What an allocator may keep for itself, KiB: a leak of one octet for each of 20,000 PDUs would be 20, of one object 2,000.
GROWTH = 2_048


def size(pid: int) -> tuple[int, int]:
    """How many descriptors a process has, and how much memory, KiB."""
    memory = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return len(os.listdir(f"/proc/{pid}/fd")), int(memory[1])


def behave(place, served, round: int) -> None:
    """A central that means well connects, discovers, reads, writes, subscribes and receives."""
    peer, value = place.peer, f"c0ffee{round:02x}"
    peer.command(f"connect 1 {place.address}")
    assert names.full(names.VALUE) in peer.command("tree 1")
    mark = peer.mark()
    for uuid in (names.VALUE, names.NUMBERS):
        peer.command(f"subscribe 1 {uuid}")
    peer.command(f"write 1 {names.VALUE} {value}")
    peer.wait("notified", mark, central="1", hex=value)
    peer.wait("notified", mark, central="1", uuid=names.full(names.NUMBERS))
    assert peer.command(f"read 1 {names.VALUE}") == value
    peer.command("leave 1")
    served.wait_count("disconnected", sum(event["event"] == "connected" for event in served.events))


@pytest.mark.essential
def test_a_storm_of_pdus_connections_and_subscriptions_leaves_nothing(place, ble, database):
    peer = place.peer
    with place.serving(ble, "--database", database) as served:
        pid = served.run.process.pid
        # Each way of behaving, well and badly, has been gone once: what is made for the first time isn't counted.
        behave(place, served, 0)
        peer.command(f"storm 0 {place.address} {SEED + 1} 500", within=3 * PATIENCE)
        behave(place, served, 1)
        before = size(pid)

        storm = peer.command(f"storm 0 {place.address} {SEED} {PDUS}", within=10 * PATIENCE)
        counts = {name: int(count) for name, _, count in (word.partition("=") for word in storm.split())}
        after_storm = size(pid)
        peer.command(f"visit 0 {place.address} {VISITS}", within=10 * PATIENCE)
        after_visits = size(pid)
        peer.command(f"connect 0 {place.address}")
        peer.command(f"toggle 0 {names.VALUE} {TOGGLES}", within=10 * PATIENCE)
        peer.command("leave 0")
        behave(place, served, 2)
        after = size(pid)
        with (OUT / "report").open("a") as report:
            print(
                f"{PDUS} PDUs ({storm}), {VISITS} connections, {TOGGLES} toggles: descriptors and KiB before {before}, "
                f"after the PDUs {after_storm}, the connections {after_visits}, the toggles {after}",
                file=report,
            )
        assert counts["sent"] == PDUS and counts["unanswered"] == 0, counts
        assert counts["answered"] > PDUS // 2 and counts["drops"] == 0, counts
        assert after[0] == before[0], (before, after)
        assert after[1] <= before[1] + GROWTH, (before, after)
        assert len([event for event in served.events if event["event"] == "connected"]) == VISITS + 6
