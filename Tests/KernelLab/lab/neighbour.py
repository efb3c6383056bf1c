"""bluetoothd beside the command, on the same adapter."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from pathlib import Path

from lab import bluez, faults
from lab.mgmt import Management
from lab.world import Process, start_bluetoothd

BONDS = Path("/var/lib/bluetooth")


class Neighbour:
    """bluetoothd without an agent, and without bonds at first; its bus runs before it. It logs what it does with adapters,
    which costs it more than to do it: a quiet one doesn't."""

    def __init__(self, management: Management, index: int, is_quiet: bool = False):
        self.management, self.index, self.is_quiet = management, index, is_quiet
        Path("/run/dbus").mkdir(exist_ok=True)
        BONDS.mkdir(parents=True, exist_ok=True)
        for folder in BONDS.iterdir():
            shutil.rmtree(folder)
        self.bus = Process("dbus", "dbus-daemon", "--system", "--nofork", "--nopidfile", "--print-address=1")
        self.bus.wait_line("unix:")
        self.daemon: Process | None = None
        self.agent: Process | None = None

    def start(self) -> None:
        if self.is_quiet:
            self.daemon = start_bluetoothd()
            asyncio.run(bluez.adapter_is_there(f"hci{self.index}"))
        else:
            self.daemon = start_bluetoothd("--debug=src/agent.c:src/adapter.c")
            # By then it has replaced the kernel's keys.
            self.daemon.wait_line(f"LTKs loaded for hci{self.index}")
        self.management.power(self.index, True)

    def register_agent(self) -> None:
        """An agent of another program, the default one; it would refuse."""
        self.agent = Process("agent", sys.executable, "-m", "peers.bluez_agent")
        self.agent.wait_line("ready")

    def restart(self) -> None:
        self.daemon.stop()
        self.start()

    def crash(self) -> None:
        """Ends it without a chance to clean up; its bus has noticed when this returns."""
        self.daemon.kill()
        self.daemon = None
        call = ["dbus-send", "--system", "--print-reply", "--dest=org.freedesktop.DBus", "/org/freedesktop/DBus"]
        names = subprocess.run([*call, "org.freedesktop.DBus.ListNames"], check=True, capture_output=True, text=True).stdout
        assert "org.bluez" not in names, names

    def stop(self) -> None:
        if self.daemon and faults.present("close-of-unused-link"):
            # If told to end, it switches the adapter off while it waits for links with its bonded devices, and only
            # then closes their sockets. If killed, it closes them first.
            self.daemon.kill()
            self.daemon = None
        for process in (self.agent, self.daemon, self.bus):
            if process:
                process.stop()
        self.management.power(self.index, True)
