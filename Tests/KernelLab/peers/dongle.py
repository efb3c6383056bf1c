"""A USB dongle that says that it is by Cambridge Silicon Radio: the kernel's own USB driver for Bluetooth meets Bumble's
controller behind it, over the kernel's virtual USB host controller (USB/IP).

    python -m peers.dongle ADDRESS MAKER VERSION RELEASE

MAKER and VERSION are what the controller answers: its maker's number, and that of its Bluetooth version. RELEASE is the
device's own version in its USB descriptor, in hexadecimal. Says `ready` once it is plugged in.

Source: kernel, `Documentation/usb/usbip_protocol.rst`; Core Specification, Vol 4, Part B, 2.
"""

from __future__ import annotations

import asyncio
import logging
import struct
import sys
from collections import deque

from bumble import hci

from peers import air
from peers.control import Control
from peers.outside import outside

DEVICE, FULL_SPEED = 0x0001_0002, 2
SUBMIT, UNLINK, SUBMITTED, UNLINKED = 1, 2, 3, 4
HEAD = struct.Struct(">5I")  # command, number, device, direction, endpoint
REQUEST = struct.Struct(">Iiiii8s")  # flags, length, frame, packets, interval, setup
REST = 28  # the octets of a header behind its head, for any command
STALLED, WITHDRAWN = -32, -104
VENDOR, PRODUCT = 0x0A12, 0x0001
BLUETOOTH = bytes([0xE0, 0x01, 0x01])
EVENTS, DATA = 1, 2  # the endpoints
GET_DESCRIPTOR = 6


class Dongle:
    """The device: answers the kernel's requests, and passes HCI packets on. Is the host of a controller."""

    def __init__(self, release: int):
        self.sink = None
        self.waiting: dict[int, deque[tuple[int, int]]] = {EVENTS: deque(), DATA: deque()}  # number and room
        self.packets: dict[int, deque[bytes]] = {EVENTS: deque(), DATA: deque()}
        self.descriptors = {1: self.device(release), 2: self.configuration()}

    @staticmethod
    def device(release: int) -> bytes:
        body = struct.pack("<H3sBHHH4B", 0x0110, BLUETOOTH, 64, VENDOR, PRODUCT, release, 0, 0, 0, 1)
        return bytes([18, 1]) + body

    @staticmethod
    def configuration() -> bytes:
        """One interface, with an endpoint for events and two for data; none for voice."""
        interface = bytes([9, 4, 0, 0, 3]) + BLUETOOTH + b"\0"
        endpoints = [(0x80 | EVENTS, 3, 16, 1), (0x80 | DATA, 2, 64, 0), (DATA, 2, 64, 0)]
        body = interface + b"".join(b"\x07\x05" + struct.pack("<BBHB", *endpoint) for endpoint in endpoints)
        return struct.pack("<BBHBBBBB", 9, 2, 9 + len(body), 1, 1, 0, 0x80, 50) + body

    def set_packet_sink(self, sink) -> None:
        self.sink = sink

    async def serve(self, reader: asyncio.StreamReader) -> None:
        while True:
            command, number, _, isIn, endpoint = HEAD.unpack(await reader.readexactly(HEAD.size))
            rest = await reader.readexactly(REST)
            if command == UNLINK:
                self.withdraw(number, int.from_bytes(rest[:4], "big"))
                continue
            _, length, _, _, _, setup = REQUEST.unpack(rest)
            octets = b"" if isIn else await reader.readexactly(length)
            if endpoint == 0:
                self.control(number, setup, octets, length if isIn else 0)
            elif isIn:
                self.waiting[endpoint].append((number, length))
                self.deliver(endpoint)
            else:
                self.answer(number, 0, b"", length)
                self.sink.on_packet(bytes([hci.HCI_ACL_DATA_PACKET]) + octets)

    def control(self, number: int, setup: bytes, octets: bytes, room: int) -> None:
        kind, request, value = setup[0], setup[1], int.from_bytes(setup[2:4], "little")
        if kind == 0x20:  # to a class, from the host: an HCI command
            self.answer(number, 0, b"", len(octets))
            self.sink.on_packet(bytes([hci.HCI_COMMAND_PACKET]) + octets)
        elif kind & 0x80 and request == GET_DESCRIPTOR:
            found = self.descriptors.get(value >> 8)
            self.answer(number, 0 if found else STALLED, (found or b"")[:room])
        else:
            self.answer(number, 0, bytes(room))

    def answer(self, number: int, status: int, octets: bytes = b"", length: int | None = None) -> None:
        length = len(octets) if length is None else length
        head = HEAD.pack(SUBMITTED, number, 0, 0, 0) + struct.pack(">5i8x", status, length, 0, 0, 0)
        self.writer.write(head + octets)

    def withdraw(self, number: int, withdrawn: int) -> None:
        """The kernel no longer waits with that request."""
        status = 0
        for endpoint, requests in self.waiting.items():
            kept = deque(request for request in requests if request[0] != withdrawn)
            status = status if len(kept) == len(requests) else WITHDRAWN
            self.waiting[endpoint] = kept
        self.writer.write(HEAD.pack(UNLINKED, number, 0, 0, 0) + struct.pack(">i24x", status))

    def on_packet(self, packet: bytes) -> None:
        """From the controller."""
        endpoint = EVENTS if packet[0] == hci.HCI_EVENT_PACKET else DATA
        self.packets[endpoint].append(bytes(packet[1:]))
        self.deliver(endpoint)

    def deliver(self, endpoint: int) -> None:
        """A packet that is longer than a request has room for continues in the next one."""
        while self.packets[endpoint] and self.waiting[endpoint]:
            number, room = self.waiting[endpoint].popleft()
            packet = self.packets[endpoint].popleft()
            if packet[room:]:
                self.packets[endpoint].appendleft(packet[room:])
            self.answer(number, 0, packet[:room])


async def main(address: str, maker: str, version: str, release: str) -> None:
    logging.basicConfig(level=logging.WARNING)
    control = Control()
    dongle = Dongle(int(release, 16))

    class Claiming(air.CentralController):
        manufacturer_company_identifier = int(maker)
        hci_version = lmp_version = int(version)

    Claiming(
        "dongle",
        lambda on, active: None,
        host_source=dongle,
        host_sink=dongle,
        link=air.Link(),
        public_address=f"{address}/P",
    )
    reader = asyncio.StreamReader()
    dongle.writer = outside().open("usb", reader.feed_data, DEVICE, FULL_SPEED)
    control.say("ready")
    await dongle.serve(reader)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
