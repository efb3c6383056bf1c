"""Starts and stops the processes of the guest's little world: peers, controllers, daemons."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

from lab import names
from lab.mgmt import Management
from lab.peer import PATIENCE, Peer

OUT = Path("/out")
RUN = Path("/run/lab")
ROOT = Path(__file__).resolve().parent.parent


class Process:
    """A background process whose output goes, line by line, to a log that is carried out of the guest."""

    def __init__(self, name: str, *command: str):
        RUN.mkdir(exist_ok=True)
        self.name = name
        self.log = OUT / f"{name}.log"
        self.lines: list[str] = []
        self.changed = threading.Condition()
        environment = os.environ | {"PYTHONUNBUFFERED": "1", "PYTHONPATH": str(ROOT)}
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=environment,
            cwd="/",
        )
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self) -> None:
        with self.log.open("a") as log:
            for line in self.process.stdout:
                log.write(line)
                log.flush()
                with self.changed:
                    self.lines.append(line)
                    self.changed.notify_all()
        with self.changed:
            self.lines.append("")  # the end
            self.changed.notify_all()

    def wait_line(self, text: str, within: float = PATIENCE) -> str:
        """The first line that contains the text."""

        def found():
            return next((line for line in self.lines if text in line), None) or self.lines[-1:] == [""]

        with self.changed:
            result = self.changed.wait_for(found, within) and found()
        if not isinstance(result, str):
            why = "it ended" if result else f"not within {within} s"
            raise AssertionError(f"{self.name} did not say '{text}': {why}\n{''.join(self.lines[-30:])}")
        return result

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.reader.join(PATIENCE)


class BumbleWorld:
    """The Bumble peripherals of peers/peripheral.py and the kernel adapter that hears them, powered on."""

    def __init__(self):
        path = str(RUN / "peripheral.sock")
        self.process = Process("peripheral", sys.executable, "-m", "peers.peripheral", path)
        self.process.wait_line(" ready ")
        self.peer = Peer(path)
        self.management = Management()
        self.index = self.management.index_of(names.CENTRAL)
        self.management.power(self.index, True)

    @property
    def adapter(self) -> str:
        return f"hci{self.index}"

    def wait_silence(self) -> None:
        """Until the radio neither listens nor holds a link, as its controller sees it."""

        def silent():
            listening = [event.facts["on"] for event in self.peer.events if event.name == "scanning"]
            links = [event.name for event in self.peer.events if event.name in ("connected", "disconnected")]
            return True if listening[-1:] != ["1"] and links[-1:] != ["connected"] else None

        self.peer.until(silent, "waiting for the radio to be silent", PATIENCE)

    def stop(self) -> None:
        self.peer.close()
        self.management.close()
        self.process.stop()


class VirtualPair:
    """btvirt's two adapters on one air. Powered on unless bluetoothd is to do that."""

    def __init__(self, power: bool = True):
        self.process = Process("btvirt", "btvirt", "-L", "-l2")
        self.management = Management()
        self.client = self.management.index_of(names.BTVIRT_CLIENT)
        self.server = self.management.index_of(names.BTVIRT_SERVER)
        if power:
            for index in (self.client, self.server):
                self.management.power(index, True)

    def stop(self) -> None:
        self.management.close()
        self.process.stop()


class BluetoothdWorld:
    """bluetoothd as the peripheral on btvirt's second adapter, with the application of peers/bluez_application.py."""

    def __init__(self):
        Path("/run/dbus").mkdir(exist_ok=True)
        self.pair = VirtualPair(power=False)
        self.bus = Process("dbus", "dbus-daemon", "--system", "--nofork", "--nopidfile", "--print-address=1")
        self.bus.wait_line("unix:")
        self.daemon = Process("bluetoothd", "/usr/libexec/bluetooth/bluetoothd", "--nodetach")
        path = str(RUN / "bluez.sock")
        server = f"hci{self.pair.server}"
        client = f"hci{self.pair.client}"
        self.process = Process("bluez", sys.executable, "-m", "peers.bluez_application", path, server, client)
        self.process.wait_line(" ready ")
        self.peer = Peer(path)
        self.management = self.pair.management
        self.index = self.pair.client

    @property
    def adapter(self) -> str:
        return f"hci{self.index}"

    def stop(self) -> None:
        self.peer.close()
        for process in (self.process, self.daemon, self.bus):
            process.stop()
        self.pair.stop()
