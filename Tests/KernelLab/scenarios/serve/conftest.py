"""Fixtures of the scenarios in which `ble serve` is the peripheral on a kernel adapter."""

from __future__ import annotations

import json
import sys
import time
from contextlib import contextmanager

import pytest

from lab import names
from lab.ble import Ble
from lab.mgmt import Management
from lab.peer import PATIENCE, Peer
from lab.world import RUN, Process


class Served:
    """One run of `ble serve`, and what it has printed so far."""

    def __init__(self, run):
        self.run = run
        run.wait_lines()
        assert self.events[0]["event"] == "serving", run

    @property
    def events(self) -> list[dict]:
        return [json.loads(line) for line in self.run.stdout.splitlines()]

    def wait(self, event: str, **facts) -> dict:
        deadline = time.monotonic() + PATIENCE
        while True:
            seen = self.events
            for found in seen:
                if found["event"] == event and all(found.get(key) == value for key, value in facts.items()):
                    return found
            assert time.monotonic() < deadline, f"no {event} {facts}\n{self.run}"
            self.run.wait_lines(len(seen) + 1)

    def stop(self) -> None:
        self.run.interrupt()
        assert self.run.end().status == 130, self.run


class World:
    """btvirt's adapters on one air: the last one is the peripheral's, the others are the centrals'."""

    def __init__(self, count: int, powered: bool):
        self.process = Process("btvirt", "btvirt", "-L", f"-l{count}")
        self.management = Management()
        addresses = [f"00:AA:01:0{n}:00:0{n}" for n in range(count)]
        self.indices = [self.management.index_of(address) for address in addresses]
        self.address = addresses[-1]
        self.index = self.indices[-1]
        if powered:
            self.management.power(self.index, True)

    @contextmanager
    def serving(self, ble: Ble, *arguments):
        command = Ble(f"hci{self.index}")
        ble.runs = command.runs
        served = Served(command.start("serve", *arguments, "--json"))
        try:
            yield served
            served.stop()
        finally:
            served.run.kill()
        assert self.management.connections(self.index) == []
        assert self.instances() == 0, "an advertisement was left behind"

    def instances(self) -> int:
        """How many advertisements the kernel has of the adapter."""
        return self.management.advertisements(self.index)

    def stop(self) -> None:
        self.management.close()
        self.process.stop()


@pytest.fixture(scope="module")
def bumble_centrals():
    """Two Bumble centrals, and an adapter for `ble serve`."""
    world = World(3, powered=True)
    path = str(RUN / "central.sock")
    adapters = [str(index) for index in world.indices[:-1]]
    central = Process("central", sys.executable, "-m", "peers.central", path, *adapters)
    central.wait_line(" ready ")
    world.peer = Peer(path)
    yield world
    world.peer.close()
    central.stop()
    world.stop()


@pytest.fixture(scope="module")
def bluetoothd_central():
    """bluetoothd on both adapters: the central on one, and beside `ble serve` on the other."""
    world = World(2, powered=False)
    bus = Process("dbus", "dbus-daemon", "--system", "--nofork", "--nopidfile", "--print-address=1")
    bus.wait_line("unix:")
    daemon = Process("bluetoothd", "/usr/libexec/bluetooth/bluetoothd", "--nodetach")
    path = str(RUN / "bluez_central.sock")
    central = Process("bluez_central", sys.executable, "-m", "peers.bluez_central", path, f"hci{world.indices[0]}")
    central.wait_line(" ready ")
    world.management.power(world.index, True)
    world.peer = Peer(path)
    world.daemon = daemon
    yield world
    world.peer.close()
    for process in (central, daemon, bus):
        process.stop()
    world.stop()
