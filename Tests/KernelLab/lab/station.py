"""The adapter that hears the thousand advertisements a second of peers/flood.py, for the bench `speed`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from lab import names
from lab.mgmt import Management
from lab.neighbour import Neighbour
from lab.peer import Peer
from lab.world import RUN, PeerProcess


class Station:
    def __init__(self):
        path = str(RUN / "flood.sock")
        self.process = PeerProcess("flood", "peers.flood", path, names.CENTRAL)
        self.process.wait_line(" ready ")
        self.peer = Peer(path)
        self.management = Management()
        self.index = self.management.index_of(names.CENTRAL)
        self.adapter = f"hci{self.index}"

    def stop(self) -> None:
        self.peer.close()
        self.management.close()
        self.process.stop()

    def silence(self) -> None:
        """What somebody has left behind: devices that the kernel waits for, monitors, and a discovery, which ends with the
        power."""
        # Advertisements that nobody has read fill the socket, and then nothing can be asked any more.
        self.management.forget_events()
        self.management.remove_devices(self.index)
        self.management.remove_monitors(self.index)
        self.management.power(self.index, False)
        self.management.power(self.index, True)

    @contextlib.contextmanager
    def bluetoothd(self) -> Iterator[Neighbour]:
        """With a bluetoothd, which knows no device at first, and logs nothing."""
        neighbour = Neighbour(self.management, self.index, is_quiet=True)
        try:
            neighbour.start()
            yield neighbour
        finally:
            # Advertisements that nobody has read, once more: the end of it asks for the adapter's state.
            self.management.forget_events()
            neighbour.stop()
