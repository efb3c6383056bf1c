"""The users' tasks for an adapter, with the `ble` command: the columns of the zoo's table. A job that fails raises."""

from __future__ import annotations

import json
import time

from lab import names
from lab.ble import Ble, Run
from lab.peer import PATIENCE
from lab.world import BumbleWorld

LONG = bytes((i * 13 + i // 256) & 0xFF for i in range(400))
ECHO = "7A1C0021-5F2B-4C8E-9D3A-6B70E14F2C55"
LIMIT, SHORT_LIMIT = ("--timeout", "90"), ("--timeout", "30")
VALUES = 5


class Job:
    """One profile's world, and the command as its user calls it."""

    def __init__(self, ble: Ble, world: BumbleWorld):
        self.ble, self.world, self.peer = ble, world, world.peer
        self.options = world.profile.options
        self.address = f"{names.NEAR}/random"

    def start(self, *arguments) -> Run:
        return self.ble.start(*arguments, *self.options)

    def good(self, *arguments) -> Run:
        limit = SHORT_LIMIT if self.is_ghost else LIMIT
        run = self.start(*arguments, *limit).end(2 * PATIENCE)
        assert run.status == 0, f"ble was to succeed\n{run}"
        return run

    # The jobs

    def scan(self) -> None:
        """Finds the sensor by its service."""
        found = self.good("scan", "--service", names.HEART_RATE, "--count", "1", "--json").sightings
        assert [sighting["rssi"] for sighting in found] == [names.NEAR_RSSI if not self.is_ghost else -50], found

    def connect(self) -> None:
        """Reads a value, writes a long one, and reads it back."""
        self.read()
        self.good("write", self.address, names.LONG, LONG.hex())
        assert self.good("read", self.address, names.LONG, "--json").values == [LONG]

    def connect_while_scanning(self) -> None:
        """Connects to a device that another run of the command has already heard, and continues scanning."""
        scan = self.start("scan", "--json")
        scan.wait_text(names.HEART_RATE if self.world.profile.meets_identity else names.NEAR)
        self.read()
        assert scan.status is None, f"the scan ended\n{scan}"
        self.stop(scan)

    def notify(self) -> None:
        """Receives a thousand values at full speed."""
        run = self.good("notify", self.address, names.THOUSAND, "--count", "1000", "--json")
        assert [int.from_bytes(value, "little") for value in run.values] == list(range(1000)), run

    def serve(self) -> None:
        """Acts as a peripheral: it is found, connected to, read, written, subscribed to, and left."""
        mark = self.peer.mark()
        run = self.start("serve", "--profile", "echo", "--json")
        run.wait_text('"serving"')
        self.peer.command("central", "connect", "0", names.CENTRAL)
        run.wait_text('"connected"')
        self.peer.command("central", "subscribe", "0", ECHO)
        self.peer.command("central", "write", "0", ECHO, LONG.hex())
        self.peer.wait("notified", mark, central="0")
        assert self.peer.command("central", "read", "0", ECHO) == LONG.hex()
        self.peer.command("central", "disconnect", "0")
        run.wait_text('"disconnected"')
        self.stop(run)

    def pair(self) -> None:
        """Reads a value that requires pairing; the bond outlives the run."""
        if not self.world.profile.meets_identity:
            self.good("pair", self.address)
        assert self.good("read", self.address, names.SECRET, "--json").values == [names.SECRET_BYTES]

    def reconnect(self) -> None:
        """Continues to receive values after the link was lost."""
        run = self.start("notify", self.address, names.HEART_RATE_MEASUREMENT, "--reconnect", "--json", "-v")
        run.wait_lines(VALUES, within=PATIENCE / 2 if self.is_ghost else PATIENCE)
        mark = self.peer.mark()
        self.peer.command("lose")
        self.peer.wait("cccd", mark, char="heart-rate", on=1)
        run.wait_lines(run.stdout.count("\n") + 1 + VALUES)
        self.stop(run)
        assert [record for record in run.records if "gap" in record], run

    # What they share

    def read(self) -> None:
        run = self.good("read", self.address, names.BODY_SENSOR_LOCATION, "--json")
        assert run.values == [b"\x01"], run

    def stop(self, run: Run) -> None:
        run.interrupt()
        assert run.end().status == 130, run

    @property
    def is_ghost(self) -> bool:
        """Whether the peer is heard once and then silent, which a short wait shows."""
        return self.world.profile.name == "once"


JOBS = {
    "scan": Job.scan,
    "connect": Job.connect,
    "connect while scanning": Job.connect_while_scanning,
    "notify": Job.notify,
    "serve": Job.serve,
    "pair": Job.pair,
    "reconnect": Job.reconnect,
}


def introduce(job: Job) -> None:
    """Pairs with a private peer by its current address, so that it is recognised later."""
    address = job.peer.command("veil")
    job.good("pair", f"{address}/random")
