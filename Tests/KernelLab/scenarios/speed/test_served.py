"""Notifications from a server to one central and to eight, as fast as each server goes: ours, Bumble's and bluetoothd's D-Bus
application, in one run, over the same emulated controllers and to the same centrals of Bumble's. What arrives and what it
costs is told; of ours all has to arrive. Runs with `run --speed` only: it takes the release build."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path

import pytest

from lab import names
from lab.costs import PROGRAM, say, spent
from lab.mgmt import Management
from lab.peer import PATIENCE, Peer
from lab.world import RUN, PeerProcess, Process, start_bluetoothd

ADDRESS = "F0:F1:F2:F3:F4:F9"
OURS = "A001"
CENTRALS = (1, 8)
COUNTS = {1: 600, 8: 120}


class Hall:
    def __init__(self):
        path = str(RUN / "audience.sock")
        self.process = PeerProcess("audience", "peers.audience", path, ADDRESS, str(max(CENTRALS)))
        self.process.wait_line(" ready ")
        self.peer = Peer(path)
        self.management = Management()
        self.index = self.management.index_of(ADDRESS)
        self.management.power(self.index, True)

    def gather(self, centrals: int, address: str, uuid: str) -> None:
        self.peer.command(f"gather {centrals} {address} {uuid}", within=3 * PATIENCE)

    def hear(self, count: int) -> dict:
        return json.loads(self.peer.command(f"hear {count}", within=5 * PATIENCE))

    def tell(self, server: str, centrals: int, count: int, heard: dict, costs: dict[str, float]) -> None:
        total = sum(heard["received"])
        parts = ", ".join(f"{name} {seconds * 1e6 / max(total, 1):.0f} µs" for name, seconds in costs.items())
        order = "in order" if heard["inOrder"] else "NOT IN ORDER"
        say(
            f"{server} to {centrals}: {total:,} of {centrals * count:,} received, {order}, "
            f"{total / max(heard['seconds'], 1e-9):,.0f} a second; processor time of one: {parts or 'outside the emulated machine'}"
        )

    def stop(self) -> None:
        self.peer.close()
        self.management.close()
        self.process.stop()


@pytest.fixture(scope="module")
def hall():
    hall = Hall()
    yield hall
    hall.stop()


@pytest.mark.parametrize("centrals", CENTRALS)
def test_ours_reach_all_of_them(hall, centrals):
    count = COUNTS[centrals]
    server = Process("server", str(PROGRAM), "--kernel", "server", f"hci{hall.index}", str(count), str(centrals))
    try:
        server.wait_line("ready")
        before = spent(server)
        hall.gather(centrals, ADDRESS, OURS)
        heard = hall.hear(count)
        hall.tell("ours", centrals, count, heard, {"server": spent(server) - before})
        hall.peer.command("leave")
    finally:
        server.stop()
    assert heard["received"] == [count] * centrals and heard["inOrder"], heard


@pytest.mark.parametrize("centrals", CENTRALS)
def test_bumbles_are_reported(hall, centrals):
    count = COUNTS[centrals]
    hall.gather(centrals, "own", names.NUMBERS)
    hall.peer.command(f"blast {count}", within=5 * PATIENCE)
    heard = hall.hear(count)
    hall.tell("Bumble", centrals, count, heard, {})
    hall.peer.command("leave")
    assert all(heard["received"]), heard


def test_those_of_bluetoothd_are_reported(hall):
    Path("/run/dbus").mkdir(exist_ok=True)
    with contextlib.ExitStack() as processes:

        def keep(process: Process) -> Process:
            processes.callback(process.stop)
            return process

        bus = keep(
            Process("dbus", "dbus-daemon", "--system", "--nofork", "--nopidfile", "--print-address=1")
        )
        bus.wait_line("unix:")
        daemon = keep(start_bluetoothd())
        path = str(RUN / "bluez.sock")
        program = keep(Process("bluez", sys.executable, "-m", "peers.bluez_application", path, f"hci{hall.index}"))
        program.wait_line(" ready ")
        application = Peer(path)
        for centrals in CENTRALS:
            count = COUNTS[centrals]
            hall.gather(centrals, ADDRESS, names.BLUEZ_NOTIFY)
            paid = {"bluetoothd": daemon, "application": program, "bus": bus}
            before = {name: spent(process) for name, process in paid.items()}
            application.command(f"blast {count}", within=5 * PATIENCE)
            heard = hall.hear(count)
            costs = {name: spent(process) - before[name] for name, process in paid.items()}
            hall.tell("bluetoothd", centrals, count, heard, costs)
            hall.peer.command("leave")
            assert all(heard["received"]), heard
        application.close()
