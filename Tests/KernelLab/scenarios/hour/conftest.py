"""The guest of the long run: two airs, bluetoothd on both adapters, and a program that works with it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from lab import names
from lab.mgmt import Management
from lab.peer import Peer
from lab.world import RUN, PeerProcess, Process

SERVING = "F0:F1:F2:F3:F4:F6"


class Neighbourhood:
    """`field`: sensors around the adapter `index`. `central`: one that is served on the adapter `serving`.
    `theirs`: the program that works with bluetoothd."""

    def __init__(self):
        self.processes: list[Process] = []
        Path("/run/dbus").mkdir(exist_ok=True)
        management = Management()
        self.field = self.peer("field", "peers.field")
        self.central = self.peer("central", "peers.central", "air", SERVING)
        self.index = management.index_of(names.CENTRAL)
        self.serving = management.index_of(SERVING)
        self.address = SERVING
        for index in (self.index, self.serving):
            management.power(index, True)
        # Its queue would fill with what nobody reads, and nothing could be asked any more.
        management.close()
        bus = self.start("dbus", "dbus-daemon", "--system", "--nofork", "--nopidfile", "--print-address=1")
        bus.wait_line("unix:")
        self.daemon = self.bluetoothd()
        path = str(RUN / "neighbour.sock")
        neighbour = self.start("neighbour", sys.executable, "-m", "peers.bluez_neighbour", path, f"hci{self.index}")
        self.theirs = self.ready(neighbour, path)

    def start(self, name: str, *command: str) -> Process:
        process = Process(name, *command)
        self.processes.append(process)
        return process

    def peer(self, name: str, module: str, *arguments: str) -> Peer:
        path = str(RUN / f"{name}.sock")
        process = PeerProcess(name, module, path, *arguments)
        self.processes.append(process)
        return self.ready(process, path)

    @staticmethod
    def ready(process: Process, path: str) -> Peer:
        process.wait_line(" ready ")
        return Peer(path)

    def bluetoothd(self) -> Process:
        """Until it has both adapters: it has replaced the kernel's keys then."""
        daemon = self.start(
            "bluetoothd", "/usr/libexec/bluetooth/bluetoothd", "--nodetach", "--debug=src/adapter.c"
        )
        for index in (self.index, self.serving):
            daemon.wait_line(f"LTKs loaded for hci{index}")
        return daemon

    def restart_bluetoothd(self) -> None:
        """As after a crash: one that ends as it should switches the adapters off, for everybody."""
        self.daemon.process.kill()
        self.daemon.stop()
        self.daemon = self.bluetoothd()

    def stop(self) -> None:
        for process in reversed(self.processes):
            process.stop()


@pytest.fixture
def neighbourhood(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    world = Neighbourhood()
    yield world
    world.stop()


@pytest.fixture
def minutes() -> float:
    """How long it goes on: `run --hour`."""
    return float(os.environ.get("LAB_HOUR") or 2)
