"""Centrals written by others, each of which follows a number that a peripheral notifies.

`join` connects and subscribes: a tool that can't reconnect by itself is told to, as its user would do. `numbers` are
all numbers received.
"""

from __future__ import annotations

import re
import sys
import time

from lab import names
from lab.bluetoothctl import Bluetoothctl
from lab.peer import PATIENCE
from lab.serving import ServingWorld
from lab.world import OUT, Process

UUID = names.NUMBERS


class Follower:
    needs_bluetoothd = False

    def __init__(self, place: ServingWorld):
        self.place = place

    @property
    def numbers(self) -> list[int]:
        raise NotImplementedError

    def join(self) -> None:
        raise NotImplementedError

    def leave(self) -> None:
        """Ends its link, if the tool can be told to."""

    def stop(self) -> None:
        """Ends the tool, whatever its state."""

    def wait_numbers(self, count: int, after: int) -> list[int]:
        """Waits for `count` more numbers than the first `after`; returns them."""
        deadline = time.monotonic() + PATIENCE
        while len(self.numbers) < after + count:
            assert time.monotonic() < deadline, f"{len(self.numbers) - after} of {count} numbers came to {self}"
            time.sleep(0.1)
        return self.numbers[after:]

    def __str__(self):
        return type(self).__name__


class Bumble(Follower):
    def __init__(self, place: ServingWorld):
        super().__init__(place)
        self.mark = place.peer.mark()

    @property
    def numbers(self) -> list[int]:
        heard = self.place.peer.since(self.mark, "notified", central="0")
        return [int.from_bytes(bytes.fromhex(event.facts["hex"]), "little") for event in heard]

    def join(self) -> None:
        self.place.peer.command(f"connect 0 {self.place.address}")
        self.place.peer.command(f"subscribe 0 {UUID}")

    def leave(self) -> None:
        self.place.peer.command("leave 0")


class Gatttool(Follower):
    """One process for each link: it doesn't end when the link does, and can't reconnect."""

    def __init__(self, place: ServingWorld):
        super().__init__(place)
        self.processes: list[Process] = []

    @property
    def numbers(self) -> list[int]:
        values = [re.search(r"value: ((?:[0-9a-f]{2} ?)+)", line) for process in self.processes for line in process.lines]
        return [int.from_bytes(bytes.fromhex(found[1]), "little") for found in values if found]

    def start(self, *arguments: str) -> Process:
        # Its lines must arrive one by one, not in blocks.
        tool = ["stdbuf", "-oL", "gatttool", "-i", f"hci{self.place.client}", "-b", self.place.address]
        return Process("gatttool", *tool, *arguments)

    def join(self) -> None:
        self.stop_last()
        found = self.start("--characteristics", "-u", names.full(UUID)).wait_line("char value handle")
        switch = int(re.search(r"char value handle = (0x[0-9a-f]+)", found)[1], 16) + 1
        # The kernel keeps the link for two seconds; only then is the next link a new one for the peripheral.
        self.place.wait_unconnected()
        process = self.start("--char-write-req", "-a", f"{switch:#06x}", "-n", "0100", "--listen")
        self.processes.append(process)
        process.wait_line("written successfully")

    def stop_last(self) -> None:
        if self.processes:
            self.processes[-1].stop()
            self.place.wait_unconnected()

    def stop(self) -> None:
        if self.processes:
            self.processes[-1].stop()


class Bleak(Follower):
    needs_bluetoothd = True

    def __init__(self, place: ServingWorld):
        super().__init__(place)
        arguments = [f"hci{place.client}", place.address, names.full(UUID)]
        self.process = Process("bleak_follower", sys.executable, "-m", "peers.bleak_follower", *arguments)
        self.seen = 0

    @property
    def numbers(self) -> list[int]:
        return [int(line.split()[1]) for line in self.process.lines if line.startswith("number ")]

    def join(self) -> None:
        """Its program reconnects by itself."""
        deadline = time.monotonic() + 2 * PATIENCE
        while (count := sum(line.startswith("subscribed") for line in self.process.lines)) <= self.seen:
            assert time.monotonic() < deadline, "bleak has not subscribed\n" + "".join(self.process.lines[-30:])
            time.sleep(0.1)
        self.seen = count

    def stop(self) -> None:
        self.process.stop()


class Person(Follower):
    """A person at bluetoothctl."""

    needs_bluetoothd = True

    def __init__(self, place: ServingWorld):
        super().__init__(place)
        self.person = Bluetoothctl("NoInputNoOutput", OUT / "bluetoothctl-hardships.log")
        self.person.ask(f"select {names.CENTRAL}", names.CENTRAL)

    @property
    def numbers(self) -> list[int]:
        # A dump of the octets, in a line of its own after the prompt.
        values = re.findall(r"\s((?:[0-9a-f]{2} ){4}) {10}", self.person.said)
        return [int.from_bytes(bytes.fromhex(value), "little") for value in values]

    def join(self) -> None:
        person, address = self.person, self.place.address
        person.ask("scan le", "Discovery started|Failed to start|InProgress")
        person.wait(f"Device {address}")
        person.ask("scan off", "Discovery stopped|Failed")
        # bluetoothd drops some links if it has both ends.
        for _ in range(5):
            place = person.type(f"connect {address}")
            if person.wait("Connection successful|Failed to connect|not available", place)[0][0] == "C":
                if person.wait("ServicesResolved: yes|Connected: no", place)[0][0] == "S":
                    break
        person.ask("menu gatt", "Menu gatt")
        person.ask(f"select-attribute {names.full(UUID)}", "service.*char")
        person.ask("notify on", "Notify started|Failed to start notify")
        person.ask("back", "Menu main")

    def leave(self) -> None:
        self.person.ask(f"remove {self.place.address}", "Device has been removed|not available")

    def stop(self) -> None:
        self.person.stop()


FOLLOWERS = {"bumble": Bumble, "gatttool": Gatttool, "bleak": Bleak, "bluetoothctl": Person}
