"""A thin ATT client on a raw L2CAP socket: it proves that the peers keep their promises before `ble` is blamed."""

from __future__ import annotations

import ctypes
import errno
import os
import select
import socket
import struct
import time

from lab import names
from lab.mgmt import AF_BLUETOOTH, address_octets, bind, libc

BTPROTO_L2CAP = 0
ATT_CHANNEL = 4
LE_PUBLIC, LE_RANDOM = 1, 2
PATIENCE = 120

ERROR, MTU_REQUEST, MTU_RESPONSE = 0x01, 0x02, 0x03
READ_BY_TYPE, READ, READ_BLOB, WRITE, WRITE_COMMAND = 0x08, 0x0A, 0x0C, 0x12, 0x52
NOTIFICATION, INDICATION, CONFIRMATION = 0x1B, 0x1D, 0x1E
REQUESTS = {0x04, 0x06, 0x08, 0x0A, 0x0C, 0x0E, 0x10, 0x12, 0x16, 0x18, 0x20}
REQUEST_NOT_SUPPORTED = 0x06
ATTRIBUTE_NOT_FOUND = 0x0A
CHARACTERISTIC = 0x2803


class ATTError(Exception):
    def __init__(self, request: int, handle: int, code: int):
        super().__init__(f"request {request:#04x} on handle {handle:#06x}: error {code:#04x}")
        self.code = code


def socket_address(address: str | None, kind: int) -> bytes:
    octets = address_octets(address) if address else bytes(6)
    return struct.pack("<HH6sHBx", AF_BLUETOOTH, 0, octets, ATT_CHANNEL, kind)


class Client:
    """One connection. Notifications and indications are kept in `values` as (handle, bytes), in order; indications are
    confirmed."""

    def __init__(self, adapter: str, address: str, kind: int, within: float = PATIENCE):
        self.mtu = 23
        self.values: list[tuple[int, bytes]] = []
        self.socket = socket.socket(AF_BLUETOOTH, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK, BTPROTO_L2CAP)
        bind(self.socket, socket_address(adapter, LE_PUBLIC))
        target = socket_address(address, kind)
        if libc.connect(self.socket.fileno(), target, len(target)):
            number = ctypes.get_errno()
            if number != errno.EINPROGRESS:
                raise OSError(number, os.strerror(number))
            if not select.select([], [self.socket], [], within)[1]:
                raise TimeoutError(f"no connection to {address}")
            number = self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if number:
                raise OSError(number, os.strerror(number))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self) -> None:
        self.socket.close()

    def receive(self, deadline: float) -> bytes:
        """The next PDU. It always waits first: a receive that blocks freezes the adapter on some 6.1 kernels."""
        if not select.select([self.socket], [], [], max(0, deadline - time.monotonic()))[0]:
            raise TimeoutError("the peer is silent")
        return self.socket.recv(1024)

    def step(self, deadline: float) -> bytes | None:
        """Processes one PDU; returns it if it is a response."""
        pdu = self.receive(deadline)
        if pdu[0] in (NOTIFICATION, INDICATION):
            self.values.append((struct.unpack_from("<H", pdu, 1)[0], pdu[3:]))
            if pdu[0] == INDICATION:
                self.socket.send(bytes([CONFIRMATION]))
            return None
        if pdu[0] == MTU_REQUEST:
            self.socket.send(struct.pack("<BH", MTU_RESPONSE, 517))
            return None
        if pdu[0] in REQUESTS:  # bluetoothd is a client on every link; there is nothing here for it to find
            self.socket.send(struct.pack("<BBHB", ERROR, pdu[0], 0, REQUEST_NOT_SUPPORTED))
            return None
        return pdu

    def request(self, pdu: bytes, within: float = PATIENCE) -> bytes:
        self.socket.send(pdu)
        deadline = time.monotonic() + within
        while (response := self.step(deadline)) is None:
            pass
        if response[0] == ERROR:
            raise ATTError(response[1], *struct.unpack_from("<HB", response, 2))
        return response

    def until(self, done, within: float = PATIENCE) -> None:
        """Receives values until `done(values)`."""
        deadline = time.monotonic() + within
        while not done(self.values):
            self.step(deadline)

    def exchange_mtu(self, mtu: int = 517) -> int:
        response = self.request(struct.pack("<BH", MTU_REQUEST, mtu))
        self.mtu = min(mtu, struct.unpack_from("<H", response, 1)[0])
        return self.mtu

    def characteristics(self) -> dict[str, int]:
        """The value handle of every characteristic, by its full UUID."""
        found: dict[str, int] = {}
        start = 1
        while True:
            try:
                response = self.request(struct.pack("<BHHH", READ_BY_TYPE, start, 0xFFFF, CHARACTERISTIC))
            except ATTError as error:
                if error.code == ATTRIBUTE_NOT_FOUND:
                    return found
                raise
            length = response[1]
            for offset in range(2, len(response), length):
                start, _, handle = struct.unpack_from("<HBH", response, offset)
                octets = bytes(reversed(response[offset + 5 : offset + length])).hex()
                if len(octets) == 32:
                    octets = f"{octets[:8]}-{octets[8:12]}-{octets[12:16]}-{octets[16:20]}-{octets[20:]}"
                found[names.full(octets)] = handle
            start += 1

    def read(self, handle: int, within: float = PATIENCE) -> bytes:
        return self.request(struct.pack("<BH", READ, handle), within)[1:]

    def read_long(self, handle: int) -> bytes:
        value = self.read(handle)
        part = value
        while len(part) == self.mtu - 1:
            part = self.request(struct.pack("<BHH", READ_BLOB, handle, len(value)))[1:]
            value += part
        return value

    def write(self, handle: int, value: bytes) -> None:
        self.request(struct.pack("<BH", WRITE, handle) + value)

    def write_command(self, handle: int, value: bytes) -> None:
        self.socket.send(struct.pack("<BH", WRITE_COMMAND, handle) + value)

    def subscribe(self, handle: int, indicate: bool = False) -> None:
        """Writes the CCCD, which all our peers place directly after the value."""
        self.write(handle + 1, b"\x02\x00" if indicate else b"\x01\x00")
