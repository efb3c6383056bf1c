"""A device that was met before comes into range of a program that waits for it: the seconds until the program has a value of
it, and the requests that this takes. `ble`, habluetooth's own stack and bleak over bluetoothd, in turns, in one boot. Runs
with `run --speed` only."""

from __future__ import annotations

import contextlib
import functools
import statistics
import sys
import time

import pytest

from lab import names
from lab.ble import PROGRAM as BLE
from lab.costs import record_run, say, spread
from lab.neighbour import Neighbour
from lab.world import BumbleWorld, Process

RUNS = 5
UUID = names.BODY_SENSOR_LOCATION
OURS, HABLUETOOTH, BLEAK = "ble read", "habluetooth", "bleak over bluetoothd"


class Range:
    """The device, and those who wait for it."""

    def __init__(self):
        self.bumble = BumbleWorld()
        self.peer = self.bumble.peer

    def stop(self) -> None:
        self.bumble.stop()

    def meet(self, name: str, *command: str) -> dict:
        """The device is away when the program begins, and comes as soon as somebody listens for it."""
        self.peer.command("reset")
        self.peer.command("advertise", "off")
        self.peer.command("requests")
        mark = self.peer.mark()
        client = Process(name, *command)
        try:
            if command[0] != str(BLE):
                client.wait_line("ready")
            self.peer.wait("scanning", mark, on=1)
            begin = time.monotonic()
            self.peer.command("advertise", "on")
            client.wait_line("value")
            seconds = time.monotonic() - begin
            opcodes = self.peer.command("requests").split(",")
            run = {"seconds": seconds, "requests": len(list(filter(None, opcodes)))}
            record_run(name, run)
            return run
        finally:
            client.stop()
            self.bumble.management.disconnect_all(self.bumble.index)

    def ours(self) -> dict:
        self.bumble.silence()
        options = ["--json", "--timeout", "60", "--adapter", self.bumble.adapter]
        return self.meet("ble", str(BLE), "read", f"{names.NEAR}/random", UUID, *options)

    def habluetooth(self) -> dict:
        self.bumble.silence()
        module = ["-m", "peers.habluetooth_reader", self.bumble.adapter, names.CENTRAL, names.NEAR, names.full(UUID)]
        return self.meet("habluetooth", sys.executable, *module)

    def bleak(self) -> dict:
        """Twice for each bluetoothd: it knows the services then."""
        self.bumble.silence()
        with contextlib.ExitStack() as ends:
            neighbour = Neighbour(self.bumble.management, self.bumble.index)
            ends.callback(neighbour.stop)
            neighbour.start()
            module = ["-m", "peers.bleak_reader", self.bumble.adapter, names.NEAR, names.full(UUID)]
            self.meet("bleak", sys.executable, *module)
            return self.meet("bleak", sys.executable, *module)

    @functools.cached_property
    def turns(self) -> dict[str, list[dict]]:
        turns: dict[str, list[dict]] = {OURS: [], HABLUETOOTH: [], BLEAK: []}
        self.ours()  # the services are known from then on
        for _ in range(RUNS):
            turns[OURS].append(self.ours())
            turns[HABLUETOOTH].append(self.habluetooth())
            turns[BLEAK].append(self.bleak())
        for name, runs in turns.items():
            requests = sorted(run["requests"] for run in runs)
            say(
                f"{name}: from in range to a value {spread([run['seconds'] for run in runs], ' s')}, "
                f"with {requests[len(requests) // 2]} requests ({requests[0]} … {requests[-1]})"
            )
        return turns

    def median(self, name: str) -> float:
        return statistics.median(run["seconds"] for run in self.turns[name])


@pytest.fixture(scope="module")
def range_of_radio():
    there = Range()
    yield there
    there.stop()


def test_a_device_is_read_as_soon_as_it_is_there(range_of_radio):
    others = {name: range_of_radio.median(name) for name in (HABLUETOOTH, BLEAK)}
    assert range_of_radio.median(OURS) <= min(others.values()), others
