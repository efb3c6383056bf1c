"""habluetooth's own stack as the central, without D-Bus: bleak's client over its backend on L2CAP sockets, which is what
its `HaBleakClientWrapper` makes where a scanner of the management socket's has found the device.

    python -m peers.habluetooth_receiver LOCAL PEER COUNT [--buffer] [--json]

Subscribes to the C peripheral of the speed bench and says one line of JSON: how many values it `received`, and the
`processorMicroseconds` of one, of this process from the first value to the last. --buffer gives the socket the receive
buffer that the other clients of the bench ask for; habluetooth has no setting for it. --json writes each value as a line
of JSON to a file in memory, in place of counting it only.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import sys
import tempfile
import time

sys.path.insert(0, os.environ["LAB_CACHE"] + "/habluetooth")

from bleak import BleakClient  # noqa: E402
from bleak.backends.device import BLEDevice  # noqa: E402
from habluetooth.channels import l2cap  # noqa: E402
from habluetooth.client_mgmt import HaMgmtClient, MgmtClientData  # noqa: E402
from habluetooth.const import BDADDR_LE_PUBLIC  # noqa: E402

NOTIFYING = "0000a001-0000-1000-8000-00805f9b34fb"
QUIET = 10  # seconds without a value, after which no more will come
SOL_SOCKET, SO_RCVBUFFORCE = 1, 33
BUFFER = 16 << 20


def enlarge_buffers() -> None:
    """Patches the one place that sees each socket before it connects."""
    original = l2cap._set_bt_security

    def patched(sock, level) -> None:
        sock.setsockopt(SOL_SOCKET, SO_RCVBUFFORCE, BUFFER)
        original(sock, level)

    l2cap._set_bt_security = patched


class Nothing:
    """Stands for the scanner, which pauses while a link is made: none runs here."""

    def connecting(self):
        return contextlib.nullcontext()


class Reception:
    def __init__(self, count: int, file):
        self.count = count
        self.file = file
        self.received = 0
        self.last = -1
        self.is_in_order = True
        self.begin = self.begin_of_work = self.end = self.end_of_work = 0
        self.complete = asyncio.Event()

    def take(self, characteristic, value: bytearray) -> None:
        number = int.from_bytes(value[:4], "little")
        if number <= self.last:
            self.is_in_order = False
        self.last = number
        if not self.received:
            self.begin, self.begin_of_work = time.monotonic_ns(), time.process_time_ns()
        self.received += 1
        if self.file:
            self.file.write(json.dumps({"characteristic": characteristic.uuid, "value": value.hex()}) + "\n")
        # As the other clients: a look at the clocks after each hundred.
        if self.received % 100 == 0 or self.received == self.count:
            self.end, self.end_of_work = time.monotonic_ns(), time.process_time_ns()
        if self.received == self.count:
            self.complete.set()

    async def wait(self) -> None:
        former = -1
        while not self.complete.is_set() and former != self.received:
            former = self.received
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.complete.wait(), QUIET)

    def facts(self) -> dict:
        measured = self.received if self.received == self.count else self.received // 100 * 100
        return {
            "received": self.received,
            "inOrder": self.is_in_order,
            "rate": round(measured / max(self.end - self.begin, 1) * 1e9),
            "processorMicroseconds": round((self.end_of_work - self.begin_of_work) / max(measured, 1) / 1000, 2),
        }


async def main(local: str, peer: str, count: str, *options: str) -> None:
    if "--buffer" in options:
        enlarge_buffers()
    backend = functools.partial(HaMgmtClient, client_data=MgmtClientData(local, Nothing()))
    backend.__name__ = "HaMgmtClient"
    device = BLEDevice(peer, None, {"address_type": BDADDR_LE_PUBLIC})
    with tempfile.TemporaryFile("w", dir="/dev/shm") if "--json" in options else contextlib.nullcontext() as file:
        reception = Reception(int(count), file)
        async with BleakClient(device, timeout=60, backend=backend) as client:
            await client.start_notify(NOTIFYING, reception.take)
            await reception.wait()
    print(json.dumps(reception.facts()), flush=True)


asyncio.run(main(*sys.argv[1:]))
