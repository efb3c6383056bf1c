"""The adapter on which `ble serve` is the peripheral, and what remains on it."""

from __future__ import annotations

import time
from contextlib import contextmanager

from lab.ble import Ble
from lab.mgmt import Management
from lab.peer import PATIENCE
from lab.served import Served
from lab.world import Process


class ServingWorld:
    """The adapter for `ble serve`, and the central that connects to it."""

    def __init__(self, process: Process, address: str):
        self.process = process
        self.management = Management()
        self.address = address
        self.index = self.management.index_of(address)

    def start(self, ble: Ble, *arguments, at_terminal: bool = False) -> Served:
        command = Ble(f"hci{self.index}")
        ble.runs = command.runs
        start = command.start_at_terminal if at_terminal else command.start
        return Served(start("serve", *arguments, "--json"))

    @contextmanager
    def serving(self, ble: Ble, *arguments, at_terminal: bool = False):
        served = self.start(ble, *arguments, at_terminal=at_terminal)
        try:
            yield served
            served.stop()
        finally:
            served.run.kill()
        # On a busy machine the kernel learns later than `ble` waits that its controller has ended a link.
        self.wait_until_unconnected(self.index)
        assert self.instances() == 0, "an advertisement was left behind"

    def wait_unconnected(self) -> None:
        """Waits until no link is up on either side: the kernel keeps one two seconds after its socket has closed."""
        self.wait_until_unconnected(self.index, self.client)

    def wait_until_unconnected(self, *indices: int) -> None:
        deadline = time.monotonic() + PATIENCE
        while any(self.management.connections(index) for index in indices):
            assert time.monotonic() < deadline, "a link stays up"
            time.sleep(0.1)

    def instances(self) -> int:
        """The number of the adapter's advertisements in the kernel."""
        return self.management.advertisements(self.index)

    def stop(self) -> None:
        self.management.close()
        self.process.stop()
