"""An image goes to a device with MCUmgr: the seconds from the link to the last octet, and the requests that carry it. `ble`
and the package smpclient over bluetoothd, in turns, in one boot. Runs with `run --speed` only."""

from __future__ import annotations

import contextlib
import hashlib
import statistics
import sys

import pytest

from lab import names
from lab.ble import PROGRAM as BLE
from lab.costs import record_run, say, spread
from lab.mcuboot import image
from lab.neighbour import Neighbour
from lab.world import BumbleWorld, Process

RUNS = 3
SIZE = 128_000
# As many devices have it. With 517, smpclient writes 514 octets, and no attribute has more than 512.
MTU = "247"
LONG = 600
OURS, SMPCLIENT = "ble update", "smpclient over bluetoothd"


class Place:
    """The device, and who brings it an image, another one each time: it isn't sent what it has."""

    def __init__(self, folder):
        self.bumble = BumbleWorld()
        self.folder = folder
        self.images = 0

    def bring(self, name: str, done: str, *command: str) -> dict:
        """Runs a program until it prints that it is done."""
        self.images += 1
        path = self.folder / f"{self.images}.bin"
        path.write_bytes(image(SIZE, self.images))
        self.bumble.peer.command("reset")
        self.bumble.peer.command("narrow", MTU)
        mark = self.bumble.peer.mark()
        client = Process(name, *(str(path) if word == "FILE" else word for word in command))
        try:
            client.wait_line(done, LONG)
            arrived = self.bumble.peer.wait("firmware", mark, kind="mcumgr")
            linked = self.bumble.peer.since(mark, "connected")[-1]
            assert arrived.facts["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest(), arrived
            run = {"seconds": arrived.time - linked.time, "requests": int(arrived.facts["requests"])}
            record_run(name, run)
            return run
        finally:
            client.stop()
            self.bumble.management.disconnect_all(self.bumble.index)

    def ours(self) -> dict:
        self.bumble.silence()
        options = ["--mode", "upload", "--adapter", self.bumble.adapter]
        return self.bring("ble-update", '"phase":"done"', str(BLE), "update", f"{names.NEAR}/random", "FILE", *options)

    def smpclient(self) -> dict:
        self.bumble.silence()
        with contextlib.ExitStack() as ends:
            neighbour = Neighbour(self.bumble.management, self.bumble.index)
            ends.callback(neighbour.stop)
            neighbour.start()
            module = ["-m", "peers.smpclient_updater", names.NEAR, "FILE"]
            return self.bring("smpclient", "uploaded", sys.executable, *module)

    def stop(self) -> None:
        self.bumble.stop()


@pytest.fixture
def place(tmp_path):
    place = Place(tmp_path)
    yield place
    place.stop()


def test_an_image_arrives_sooner(place):
    turns: dict[str, list[dict]] = {OURS: [], SMPCLIENT: []}
    for _ in range(RUNS):
        turns[OURS].append(place.ours())
        turns[SMPCLIENT].append(place.smpclient())
    for name, runs in turns.items():
        requests = sorted(run["requests"] for run in runs)
        seconds = spread([run["seconds"] for run in runs], " s")
        say(f"{name}: {SIZE:,} octets of firmware in {seconds}, with {requests[len(requests) // 2]:,} requests")
    medians = {name: statistics.median(run["seconds"] for run in runs) for name, runs in turns.items()}
    assert medians[OURS] <= medians[SMPCLIENT], medians
