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
from lab.relay import Remote
from peers import zoo

OUT = Path("/out")
RUN = Path("/run/lab")
ROOT = Path(__file__).resolve().parent.parent


class Process:
    """A background process whose output goes, line by line, to a log that is copied out of the guest."""

    def __init__(self, name: str, *command: str):
        RUN.mkdir(exist_ok=True)
        self.name = name
        self.log = OUT / f"{name}.log"
        self.lines: list[str] = []
        self.changed = threading.Condition()
        self.process = self.start(command, os.environ | {"PYTHONUNBUFFERED": "1", "PYTHONPATH": str(ROOT)})
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def start(self, command: tuple[str, ...], environment: dict[str, str]) -> subprocess.Popen | Remote:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=environment,
            cwd="/",
        )

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
        """Waits for the first line that contains the text."""

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

    def kill(self) -> None:
        """Ends it at once, without a chance to clean up."""
        self.process.kill()
        self.process.wait()
        self.reader.join(PATIENCE)


class PeerProcess(Process):
    """A module of peers/ that needs Bumble, with its arguments. It runs outside the guest."""

    def start(self, command: tuple[str, ...], environment: dict[str, str]) -> Remote:
        module, *arguments = command
        return Remote(module, arguments, environment)


def start_bluetoothd(*arguments: str) -> Process:
    """The daemon of the release that the run chose, which has begun to answer: a bluetoothctl that met it in its first
    steps waited for ever."""
    daemon = launch_bluetoothd(*arguments)
    daemon.wait_line("Bluetooth management interface")
    return daemon


def launch_bluetoothd(*arguments: str) -> Process:
    """This machine's, or Debian 13's with its own root."""
    program = "/usr/libexec/bluetooth/bluetoothd"
    if not (release := os.environ.get("LAB_BLUETOOTHD")):
        return Process("bluetoothd", program, "--nodetach", *arguments)
    root = Path(os.environ["LAB_CACHE"], f"bluetoothd-{release}")
    for folder in ("proc", "sys", "dev", "run", "var/lib/bluetooth"):
        if not os.path.ismount(root / folder):
            subprocess.run(["mount", "--rbind", f"/{folder}", str(root / folder)], check=True)
    return Process("bluetoothd", "chroot", str(root), program, "--nodetach", *arguments)


class BumbleWorld:
    """The Bumble peripherals of peers/peripheral.py and the kernel adapter that hears them, powered on.

    The adapter's controller, or the peripheral, follows a profile of the zoo: the one given, or the run's.
    """

    def __init__(self, profile: str | None = None):
        self.profile = zoo.named(profile or os.environ.get("LAB_PROFILE") or zoo.PLAIN.name)
        path = str(RUN / "peripheral.sock")
        self.process = PeerProcess("peripheral", "peers.peripheral", path, self.profile.name)
        ready = self.process.wait_line(" ready ")
        self.peer = Peer(path)
        self.management = Management()
        indices = [int(name.removeprefix("hci")) for name in ready.rpartition("=")[2].strip().split(",")]
        self.index = indices[0]
        for index in indices:
            self.management.wait_index(index)
            self.management.power(index, True)
        if self.profile.is_late:
            # The kernel keeps a newly registered adapter open for two seconds, and then queries nothing again.
            self.management.power(self.index, False)
            self.management.power(self.index, True)

    @property
    def adapter(self) -> str:
        return f"hci{self.index}"

    def wait_silence(self) -> None:
        """Waits until the radio neither listens nor has a link, according to its controller."""

        def silent():
            listening = [event.facts["on"] for event in self.peer.events if event.name == "scanning"]
            links = [event.name for event in self.peer.events if event.name in ("connected", "disconnected")]
            return True if listening[-1:] != ["1"] and links[-1:] != ["connected"] else None

        self.peer.until(silent, "waiting for the radio to be silent", PATIENCE)

    def silence(self) -> None:
        """A discovery that somebody has left behind ends with the power."""
        for on in (False, True):
            self.management.power(self.index, on)

    def stop(self) -> None:
        self.peer.close()
        self.management.close()
        self.process.stop()


class JoinedWorld:
    """The kernel adapters of peers/joined.py and the sensors that they hear. The first two are plugged in and on."""

    def __init__(self):
        path = str(RUN / "joined.sock")
        self.process = PeerProcess("joined", "peers.joined", path)
        self.process.wait_line(" ready ")
        self.peer = Peer(path)
        self.management = Management()
        self.power()

    @property
    def names(self) -> dict[str, str]:
        """The adapters' current names in the kernel."""
        return {"first": self.adapter_at(names.CENTRAL), "second": self.adapter_at(names.SECOND_CENTRAL)}

    def adapter_at(self, address: str) -> str:
        """The name of the adapter with this address."""
        return f"hci{self.management.index_of(address)}"

    def power(self, *addresses: str) -> None:
        """Switches adapters on; they are off when they are plugged in."""
        for address in addresses or (names.CENTRAL, names.SECOND_CENTRAL):
            self.management.power(self.management.index_of(address), True)

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
            self.power()

    def power(self) -> None:
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
        self.daemon = start_bluetoothd()
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
