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


AIR_ADDRESS = "F0:F1:F2:F3:F4:F6"
EXTENDED_ADDRESS = "F0:F1:F2:F3:F4:F7"


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
    """The adapter that `ble serve` is told, and who is to meet it."""

    def __init__(self, process: Process, address: str):
        self.process = process
        self.management = Management()
        self.address = address
        self.index = self.management.index_of(address)

    def start(self, ble: Ble, *arguments) -> Served:
        command = Ble(f"hci{self.index}")
        ble.runs = command.runs
        return Served(command.start("serve", *arguments, "--json"))

    @contextmanager
    def serving(self, ble: Ble, *arguments):
        served = self.start(ble, *arguments)
        try:
            yield served
            served.stop()
        finally:
            served.run.kill()
        assert self.management.connections(self.index) == []
        assert self.instances() == 0, "an advertisement was left behind"

    def wait_unconnected(self) -> None:
        """Until no link is up on either side: the kernel keeps one for two seconds after its socket has closed."""
        deadline = time.monotonic() + PATIENCE
        while any(self.management.connections(index) for index in (self.index, self.client)):
            assert time.monotonic() < deadline, "a link stays up"
            time.sleep(0.1)

    def instances(self) -> int:
        """How many advertisements the kernel has of the adapter."""
        return self.management.advertisements(self.index)

    def stop(self) -> None:
        self.management.close()
        self.process.stop()


@pytest.fixture(scope="module")
def bumble_centrals():
    """Two Bumble centrals on an air of their own, with an adapter for `ble serve`. btvirt gives all links one handle."""
    path = str(RUN / "central.sock")
    central = Process("central", sys.executable, "-m", "peers.central", path, "air", AIR_ADDRESS)
    central.wait_line(" ready ")
    world = World(central, AIR_ADDRESS)
    world.management.power(world.index, True)
    world.peer = Peer(path)
    yield world
    world.peer.close()
    world.stop()


@pytest.fixture(scope="module")
def extended():
    """An adapter with extended advertising, whose controller says what is on air; nobody listens to it."""
    path = str(RUN / "extended.sock")
    controller = Process("extended", sys.executable, "-m", "peers.extended", path, EXTENDED_ADDRESS)
    controller.wait_line(" ready ")
    world = World(controller, EXTENDED_ADDRESS)
    world.management.power(world.index, True)
    world.peer = Peer(path)
    yield world
    world.peer.close()
    world.stop()


@pytest.fixture(scope="module")
def bumble_central():
    """A Bumble central on btvirt's other adapter."""
    world = World(Process("btvirt", "btvirt", "-L", "-l2"), names.BTVIRT_SERVER)
    client = world.management.index_of(names.BTVIRT_CLIENT)
    world.management.power(world.index, True)
    path = str(RUN / "central.sock")
    central = Process("central", sys.executable, "-m", "peers.central", path, str(client))
    central.wait_line(" ready ")
    world.peer = Peer(path)
    yield world
    world.peer.close()
    central.stop()
    world.stop()


@pytest.fixture(scope="module")
def bluetoothd_central():
    """bluetoothd on both adapters: the central on one, and beside `ble serve` on the other."""
    world = World(Process("btvirt", "btvirt", "-L", "-l2"), names.BTVIRT_SERVER)
    world.client = world.management.index_of(names.BTVIRT_CLIENT)
    bus = Process("dbus", "dbus-daemon", "--system", "--nofork", "--nopidfile", "--print-address=1")
    bus.wait_line("unix:")
    daemon = Process("bluetoothd", "/usr/libexec/bluetooth/bluetoothd", "--nodetach")
    path = str(RUN / "bluez_central.sock")
    central = Process("bluez_central", sys.executable, "-m", "peers.bluez_central", path, f"hci{world.client}")
    central.wait_line(" ready ")
    world.management.power(world.index, True)
    world.peer = Peer(path)
    world.daemon = daemon
    yield world
    world.peer.close()
    for process in (central, daemon, bus):
        process.stop()
    world.stop()
