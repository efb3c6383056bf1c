"""Fixtures of the scenarios in which `ble serve` is the peripheral on a kernel adapter."""

from __future__ import annotations

import sys

import pytest

from lab import names
from lab.peer import Peer
from lab.serving import ServingWorld as World
from lab.world import RUN, PeerProcess, Process, start_bluetoothd


AIR_ADDRESS = "F0:F1:F2:F3:F4:F6"
ONE_ROLE_ADDRESS = "F0:F1:F2:F3:F4:F8"
EXTENDED_ADDRESS = "F0:F1:F2:F3:F4:F7"


@pytest.fixture(scope="module")
def bumble_centrals():
    """Two Bumble centrals on an air of their own, with an adapter for `ble serve`. btvirt gives all links one handle."""
    path = str(RUN / "central.sock")
    central = PeerProcess("central", "peers.central", path, "air", AIR_ADDRESS)
    central.wait_line(" ready ")
    world = World(central, AIR_ADDRESS)
    world.management.power(world.index, True)
    world.peer = Peer(path)
    yield world
    world.peer.close()
    world.stop()


@pytest.fixture
def dbus():
    """The bus that bluetoothd needs."""
    bus = Process("dbus", "dbus-daemon", "--system", "--nofork", "--nopidfile", "--print-address=1")
    bus.wait_line("unix:")
    yield bus
    bus.stop()


@pytest.fixture(scope="module")
def one_role():
    """An adapter that can't be central and peripheral at once, with a central and a sensor about."""
    path = str(RUN / "one_role.sock")
    process = PeerProcess("one_role", "peers.one_role", path, ONE_ROLE_ADDRESS)
    process.wait_line(" ready ")
    world = World(process, ONE_ROLE_ADDRESS)
    world.client = world.index
    world.management.power(world.index, True)
    world.peer = Peer(path)
    yield world
    world.peer.close()
    world.stop()


@pytest.fixture(scope="module")
def extended():
    """An adapter with extended advertising, whose controller says what is on air; nobody listens to it."""
    path = str(RUN / "extended.sock")
    controller = PeerProcess("extended", "peers.extended", path, EXTENDED_ADDRESS)
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
    central = PeerProcess("central", "peers.central", path, str(client))
    central.wait_line(" ready ")
    world.peer = Peer(path)
    yield world
    world.peer.close()
    central.stop()
    world.stop()


@pytest.fixture(scope="module")
def kernel_central():
    """The kernel on both of btvirt's adapters; nobody but `ble` uses them."""
    world = World(Process("btvirt", "btvirt", "-L", "-l2"), names.BTVIRT_SERVER)
    world.client = world.management.index_of(names.BTVIRT_CLIENT)
    for index in (world.index, world.client):
        world.management.power(index, True)
    yield world
    world.stop()


@pytest.fixture(scope="module")
def bluetoothd_central():
    """bluetoothd on both adapters: the central on one, and beside `ble serve` on the other."""
    world = World(Process("btvirt", "btvirt", "-L", "-l2"), names.BTVIRT_SERVER)
    world.client = world.management.index_of(names.BTVIRT_CLIENT)
    bus = Process("dbus", "dbus-daemon", "--system", "--nofork", "--nopidfile", "--print-address=1")
    bus.wait_line("unix:")
    daemon = start_bluetoothd()
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
