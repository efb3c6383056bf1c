"""One air with two kernel adapters, `ble serve` on the one, and centrals: two of Bumble's, and whoever uses the other one."""

from __future__ import annotations

import json

import pytest

from lab import names
from lab.peer import Peer
from lab.serving import ServingWorld
from lab.world import RUN, PeerProcess, Process, start_bluetoothd

ADDRESS = "F0:F1:F2:F3:F4:F6"
COUNTER = names.NUMBERS
DATABASE = {
    "name": "hard pressed",
    "services": [
        {
            "uuid": names.VENDOR,
            "characteristics": [
                {
                    "uuid": COUNTER,
                    "properties": ["read", "notify"],
                    "value": {"count": 1, "octets": 4, "every": 0.25},
                },
                {"uuid": names.VALUE, "properties": ["read", "write", "notify"], "value": names.VALUE_BYTES.hex()},
            ],
        }
    ],
}


@pytest.fixture(scope="module")
def place():
    path = str(RUN / "central.sock")
    central = PeerProcess("central", "peers.central", path, "air", ADDRESS, names.CENTRAL)
    central.wait_line(" ready ")
    world = ServingWorld(central, ADDRESS)
    world.client = world.management.index_of(names.CENTRAL)
    for index in (world.index, world.client):
        world.management.power(index, True)
    world.peer = Peer(path)
    yield world
    world.peer.close()
    world.stop()


@pytest.fixture
def database(tmp_path):
    """A file with a number that grows four times a second."""
    path = tmp_path / "counter.json"
    path.write_text(json.dumps(DATABASE))
    return str(path)


@pytest.fixture
def neighbour():
    """bluetoothd, on both adapters."""
    bus = Process("dbus", "dbus-daemon", "--system", "--nofork", "--nopidfile", "--print-address=1")
    bus.wait_line("unix:")
    daemon = start_bluetoothd()
    yield daemon
    daemon.stop()
    bus.stop()
