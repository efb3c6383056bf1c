"""What a peer has outside itself, which is in the guest: devices, and a control socket. See peers/frames.py.

The peer's end is a socket on which each message is a frame without its length and its peer, which `attach` gives.
"""

from __future__ import annotations

import asyncio
import io
import itertools
import json
import os
import signal
import socket
import sys
from collections import deque
from collections.abc import Awaitable, Callable

from peers.frames import MOST, Kind, numbered, split

LONGEST = 1 << 20  # the largest message, in octets
AT_A_TIME = 16  # packets


class Text(io.TextIOBase):
    """Standard output and error: what is written goes to the guest, in the order of everything else."""

    encoding = "utf-8"

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        outside().send(Kind.PRINT, text.encode(errors="replace"))
        return len(text)


class Client:
    """Somebody who is connected to the control socket."""

    def __init__(self, number: int):
        self.number = number
        self.reader = asyncio.StreamReader()

    def write(self, octets: bytes) -> None:
        for place in range(0, len(octets), MOST):
            outside().send(Kind.SAID, numbered(self.number, octets[place : place + MOST]))

    def close(self) -> None:
        """It has left, or everybody has."""


class Device:
    """A file of the guest, by packets."""

    def __init__(self, number: int, take: Callable[[bytes], None]):
        self.number = number
        self.take = take

    def write(self, packet: bytes) -> None:
        outside().send(Kind.DEVICE, numbered(self.number, packet))

    def close(self) -> None:
        outside().forget(self)


class Air:
    """Carries as much as a radio does: no more packets at a time than the guest has come to."""

    def __init__(self, send: Callable[[Kind, bytes], None]):
        self.send = send
        self.packets: deque[Callable[[], None]] = deque()
        self.carried = self.settled = 0

    def carry(self, packet: Callable[[], None]) -> None:
        """Calls what is done once a packet has been on air, in order."""
        self.packets.append(packet)
        self.flow()

    def settle(self, number: int) -> None:
        self.settled += (number - self.settled) & 0xFFFF
        self.flow()

    def flow(self) -> None:
        while self.packets and self.carried - self.settled < AT_A_TIME:
            self.carried += 1
            if self.carried % (AT_A_TIME // 2) == 0:
                self.send(Kind.SETTLED, numbered(self.carried & 0xFFFF))
            self.packets.popleft()()


class Outside:
    def __init__(self, end: socket.socket):
        self.end = end
        self.numbers = itertools.count()
        self.devices: dict[int, Device] = {}
        self.clients: dict[int, Client] = {}
        self.conversations: set[asyncio.Task] = set()
        self.air = Air(self.send)
        self.is_read = False

    def send(self, kind: Kind, payload: bytes = b"") -> None:
        try:
            self.end.send(bytes([kind]) + payload)
        except OSError:  # the guest is gone
            os._exit(1)

    def open(self, what: str, take: Callable[[bytes], None], *arguments: int) -> Device:
        """A device of the guest: `vhci` with its options, `user-channel` of an adapter, or `usb` with its speed and number.
        `take` gets each packet that is read from it."""
        device = Device(next(self.numbers), take)
        self.devices[device.number] = device
        self.send(Kind.OPEN, numbered(device.number, json.dumps([what, *arguments]).encode()))
        self.read()
        return device

    def forget(self, device: Device) -> None:
        if self.devices.pop(device.number, None):
            self.send(Kind.CLOSE, numbered(device.number))

    def listen(self, path: str, converse: Callable[[asyncio.StreamReader, Client], Awaitable[None]]) -> None:
        """Has a control socket at this path. `converse` is run for each client."""
        self.converse = converse
        self.send(Kind.LISTEN, path.encode())
        self.read()

    def read(self) -> None:
        if not self.is_read:
            self.is_read = True
            asyncio.get_running_loop().add_reader(self.end, self.on_readable)

    def on_readable(self) -> None:
        message = self.end.recv(LONGEST)
        if not message:
            os._exit(1)  # the guest is gone
        kind, payload = Kind(message[0]), message[1:]
        if kind is Kind.SIGNAL:
            os.kill(os.getpid(), payload[0])
            return
        number, octets = split(payload)
        if kind is Kind.SETTLED:
            self.air.settle(number)
        elif kind is Kind.DEVICE:
            # One that was closed here may still have had something to say.
            if device := self.devices.get(number):
                device.take(octets)
        elif kind is Kind.JOINED:
            client = self.clients[number] = Client(number)
            conversation = asyncio.ensure_future(self.converse(client.reader, client))
            self.conversations.add(conversation)
            conversation.add_done_callback(self.conversations.discard)
        elif kind is Kind.SAID:
            self.clients[number].reader.feed_data(octets)
        elif kind is Kind.LEFT:
            self.clients.pop(number).reader.feed_eof()


here: Outside | None = None


def attach(end: socket.socket) -> None:
    """Makes this process a peer of the guest behind that socket."""
    global here
    here = Outside(end)
    sys.stdout = sys.stderr = Text()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def outside() -> Outside:
    """Of this process."""
    if here is None:
        raise RuntimeError("a peer is started by the lab: see lab/world.py")
    return here
