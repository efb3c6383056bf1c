"""The parts of the kernel's management socket that the lab needs. Blocking, with a deadline for every call."""

from __future__ import annotations

import ctypes
import errno
import os
import select
import socket
import struct
import time
from pathlib import Path

AF_BLUETOOTH = 31
BTPROTO_HCI = 1
HCI_CHANNEL_CONTROL = 3
NO_INDEX = 0xFFFF

COMMAND_COMPLETE = 0x0001
COMMAND_STATUS = 0x0002
INDEX_ADDED = 0x0004
INDEX_REMOVED = 0x0005
NEW_SETTINGS = 0x0006
NEW_LONG_TERM_KEY = 0x000A
DEVICE_CONNECTED = 0x000B
DEVICE_DISCONNECTED = 0x000C
CONNECT_FAILED = 0x000D
USER_CONFIRMATION_REQUEST = 0x000F
DISCOVERING = 0x0013
UNCONFIGURED_INDEX_ADDED = 0x001D
ADVERTISING_ADDED = 0x0023
ADVERTISING_REMOVED = 0x0024
ADV_MONITOR_ADDED = 0x002B

READ_INDEX_LIST = 0x0003
READ_INFO = 0x0004
SET_POWERED = 0x0005
SET_BONDABLE = 0x0009
SET_LE = 0x000D
DISCONNECT = 0x0014
LOAD_LONG_TERM_KEYS = 0x0013
LOAD_IDENTITY_KEYS = 0x0030
GET_CONNECTIONS = 0x0015
UNPAIR = 0x001B
USER_CONFIRMATION_REPLY = 0x001C
START_DISCOVERY = 0x0023
STOP_DISCOVERY = 0x0024
SET_SECURE_CONNECTIONS = 0x002D
SET_PRIVACY = 0x002F
REMOVE_DEVICE = 0x0034
READ_ADVERTISING_FEATURES = 0x003D
ADD_ADVERTISING = 0x003E
REMOVE_ADVERTISING = 0x003F
READ_ADV_MONITOR_FEATURES = 0x0051
REMOVE_ADV_MONITOR = 0x0053

POWERED_BIT = 1 << 0
LE_BIT = 1 << 9
LE_ONLY = b"\x06"

FAILED = 0x03
BUSY = 0x0A
REJECTED = 0x0B
NOT_PAIRED = 0x06
INVALID_PARAMETERS = 0x0D
RANDOM = 2

libc = ctypes.CDLL(None, use_errno=True)


def bind(sock: socket.socket, address: bytes) -> None:
    """bind(2) with the raw address: Python knows neither the control channel nor L2CAP's fixed channels."""
    if libc.bind(sock.fileno(), address, len(address)):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def address_text(octets: bytes) -> str:
    return ":".join(f"{octet:02X}" for octet in reversed(octets))


def address_octets(text: str) -> bytes:
    return bytes(reversed(bytes.fromhex(text.replace(":", ""))))


class ManagementError(Exception):
    def __init__(self, opcode: int, status: int):
        super().__init__(f"management command {opcode:#06x}: status {status:#04x}")
        self.status = status


class Management:
    """One socket. Events that arrive while a reply is awaited are kept for `wait`."""

    def __init__(self):
        self.socket = socket.socket(AF_BLUETOOTH, socket.SOCK_RAW | socket.SOCK_NONBLOCK, BTPROTO_HCI)
        bind(self.socket, struct.pack("<HHH", AF_BLUETOOTH, NO_INDEX, HCI_CHANNEL_CONTROL))
        self.events: list[tuple[int, int, bytes]] = []

    def close(self) -> None:
        self.socket.close()

    def receive(self, deadline: float) -> tuple[int, int, bytes]:
        remaining = max(0, deadline - time.monotonic())
        if not select.select([self.socket], [], [], remaining)[0]:
            raise TimeoutError("the management socket is silent")
        packet = self.socket.recv(4096)
        code, index, length = struct.unpack_from("<HHH", packet)
        return code, index, packet[6 : 6 + length]

    def command(self, opcode: int, index: int = NO_INDEX, parameters: bytes = b"", within: float = 60) -> bytes:
        """Sends a command and returns the parameters of its reply after the status."""
        deadline = time.monotonic() + within
        packet = struct.pack("<HHH", opcode, index, len(parameters)) + parameters
        while True:
            try:
                self.socket.send(packet)
                break
            except OSError as error:
                # Events that nobody has read have left no room for the reply.
                if error.errno != errno.ENOMEM:
                    raise
                self.events.append(self.receive(deadline))
        while True:
            code, source, data = self.receive(deadline)
            if code in (COMMAND_COMPLETE, COMMAND_STATUS) and struct.unpack_from("<H", data)[0] == opcode:
                if data[2]:
                    raise ManagementError(opcode, data[2])
                return data[3:]
            self.events.append((code, source, data))

    def wait(self, matches, within: float = 60) -> tuple[int, int, bytes]:
        """Removes and returns the first event, kept or new, for which `matches(code, index, data)`."""
        deadline = time.monotonic() + within
        while True:
            for position, event in enumerate(self.events):
                if matches(*event):
                    return self.events.pop(position)
            self.events.append(self.receive(deadline))

    def forget_events(self) -> None:
        """Drops every event so far, so that `wait` covers only later ones."""
        self.events.clear()
        while select.select([self.socket], [], [], 0)[0]:
            self.socket.recv(4096)

    # Adapters

    def indices(self) -> list[int]:
        data = self.command(READ_INDEX_LIST)
        return list(struct.unpack_from(f"<{len(data) // 2 - 1}H", data, 2))

    def address(self, index: int) -> str:
        return address_text(self.command(READ_INFO, index)[:6])

    def settings(self, index: int) -> int:
        return struct.unpack_from("<I", self.command(READ_INFO, index), 13)[0]

    def wait_settings(self, index: int, wanted: int) -> None:
        """Waits until another program has switched these settings on."""

        def has(code: int, source: int, data: bytes) -> bool:
            return (code, source) == (NEW_SETTINGS, index) and struct.unpack("<I", data)[0] & wanted == wanted

        self.wait(has)

    def index_of(self, address: str, within: float = 60) -> int:
        """The adapter with that address; waits until it is present."""
        while True:
            for index in self.indices():
                if self.address(index) == address:
                    return index
            self.wait(lambda code, index, data: code == INDEX_ADDED, within)

    def wait_index(self, index: int, within: float = 60) -> None:
        """Waits until the kernel has set up that adapter."""
        while index not in self.indices():
            self.wait(lambda code, source, data: code == INDEX_ADDED, within)

    def wait_unconfigured(self, within: float = 60) -> int:
        """The adapter that the kernel has set up and reports as unconfigured."""
        return self.wait(lambda code, index, data: code == UNCONFIGURED_INDEX_ADDED, within)[1]

    def power(self, index: int, on: bool) -> None:
        if on:
            self.set(SET_LE, index, b"\x01", LE_BIT)
        # If it is still closing the adapter, the kernel reports success for switching it on, and leaves it off.
        for _ in range(3):
            settings = self.set(SET_POWERED, index, bytes([on]), POWERED_BIT)
            if bool(settings & POWERED_BIT) == on:
                return
        raise ManagementError(SET_POWERED, FAILED)

    def set(self, opcode: int, index: int, value: bytes, bit: int) -> int:
        """Changes a setting; returns all settings.

        While another program changes the same setting, as bluetoothd does at its start, the kernel is busy. It reports
        the new settings just before it completes the change: if they are as wanted by then, there is no second request.
        """
        while True:
            try:
                return struct.unpack("<I", self.command(opcode, index, value))[0]
            except ManagementError as error:
                if error.status != BUSY:
                    raise
            settings = self.settings(index)
            if bool(settings & bit) == bool(value[0]):
                return settings
            self.wait(lambda code, source, data: (code, source) == (NEW_SETTINGS, index))

    def privacy(self, index: int, on: bool) -> None:
        """Makes the adapter use private addresses, or its own. This switches it off and on again."""
        self.power(index, False)
        self.command(SET_PRIVACY, index, bytes([on]) + bytes(range(1, 17)))
        self.power(index, True)

    def advertise(self, index: int, instance: int = 1) -> None:
        """Makes the adapter advertise a service, connectable, until it is switched off or bluetoothd starts."""
        data = bytes([3, 3]) + bytes.fromhex("0d18")
        # With a scan response; otherwise the report of the advertisement is delayed until the end of a scan.
        response = bytes([6, 9]) + b"Speed"
        connectable_with_flags = 0x09
        parameters = struct.pack("<BIHHBB", instance, connectable_with_flags, 0, 0, len(data), len(response))
        parameters += data + response
        self.command(ADD_ADVERTISING, index, parameters)

    # Bonds

    def bond(self, index: int, is_secure: bool) -> None:
        """Makes the kernel keep bonds that others request, with LE Secure Connections or by legacy pairing."""
        self.command(SET_BONDABLE, index, b"\x01")
        self.command(SET_SECURE_CONNECTIONS, index, bytes([is_secure]))

    def confirm(self, index: int) -> None:
        """Agrees to the next pairing without numbers that another device begins."""
        request = self.wait(lambda code, source, data: (code, source) == (USER_CONFIRMATION_REQUEST, index))
        self.command(USER_CONFIRMATION_REPLY, index, request[2][:7])

    def unpair(self, index: int, address: str) -> None:
        """Makes the kernel forget the keys of a random address, if it has any, and drops a connection to it."""
        try:
            self.command(UNPAIR, index, address_octets(address) + bytes([RANDOM, 1]))
        except ManagementError as error:
            if error.status != NOT_PAIRED:
                raise

    def forget_keys(self, index: int) -> None:
        """Removes the keys of all bonds from the kernel, as a restart does."""
        self.command(LOAD_LONG_TERM_KEYS, index, b"\x00\x00")

    def forget_identities(self, index: int) -> None:
        """Removes the keys of all private addresses from the kernel, as a restart does."""
        self.command(LOAD_IDENTITY_KEYS, index, b"\x00\x00")

    def load_key(self, index: int, address: str) -> None:
        """Gives the kernel a random address's key, and removes all others, as any program can."""
        key = address_octets(address) + bytes([RANDOM, 0, 1, 16]) + bytes(10) + bytes(range(16))
        self.command(LOAD_LONG_TERM_KEYS, index, b"\x01\x00" + key)

    def wait_new_key(self, index: int) -> None:
        """Waits until a pairing has made a long-term key."""
        self.wait(lambda code, source, data: (code, source) == (NEW_LONG_TERM_KEY, index))

    def keys(self, index: int) -> set[str]:
        """The peers whose long-term keys the kernel has."""
        lines = Path(f"/sys/kernel/debug/bluetooth/hci{index}/long_term_keys").read_text().splitlines()
        return {line.split()[0].upper() for line in lines}

    def key_kinds(self, index: int) -> set[str]:
        """The kinds of its keys: 0x01 and 0x02 for the two roles of a legacy pairing, 0x03 for Secure Connections."""
        lines = Path(f"/sys/kernel/debug/bluetooth/hci{index}/long_term_keys").read_text().splitlines()
        return {line.split()[4] for line in lines}

    # What must be clean before a test

    def connections(self, index: int) -> list[str]:
        data = self.command(GET_CONNECTIONS, index)
        return [address_text(data[offset : offset + 6]) for offset in range(2, len(data), 7)]

    def discovering(self, index: int) -> bool:
        """Whether any program's discovery is running. Tests it by starting one, which the kernel then refuses."""
        while True:
            # Events until now concern other discoveries. Ours may be reported before the reply or after it: kernels
            # differ.
            self.forget_discoveries()
            try:
                self.command(START_DISCOVERY, index, LE_ONLY)
                break
            except ManagementError as error:
                if error.status != BUSY:
                    raise
            # It is also busy while the last discovery is being stopped: then the end is still to be reported.
            try:
                self.wait_discovering(index, on=False, within=20)
            except TimeoutError:
                return True
        # The reply comes before the kernel counts the discovery as running: it would refuse to stop it at once.
        self.wait_discovering(index, on=True)
        # The end of another program's discovery may have been reported meanwhile.
        self.forget_discoveries()
        self.command(STOP_DISCOVERY, index, LE_ONLY)
        self.wait_discovering(index, on=False)
        return False

    def forget_discoveries(self) -> None:
        """Drops the events about discoveries so far."""
        while select.select([self.socket], [], [], 0)[0]:
            self.events.append(self.receive(time.monotonic()))
        self.events = [event for event in self.events if event[0] != DISCOVERING]

    def wait_discovering(self, index: int, on: bool, within: float = 60) -> None:
        """Waits until the kernel reports that discovery has begun, or has ended."""
        self.wait(lambda code, source, data: (code, source) == (DISCOVERING, index) and data[1] == on, within)

    def monitors(self, index: int) -> int:
        """The number of advertisement monitors left behind."""
        return struct.unpack_from("<H", self.command(READ_ADV_MONITOR_FEATURES, index), 11)[0]

    def advertisements(self, index: int) -> int:
        """The number of advertising instances that programs have added."""
        return len(self.instances(index))

    def instances(self, index: int) -> list[int]:
        """The numbers of the advertising instances that programs have added; a number higher than their count is
        missing (a fault of the kernel)."""
        features = self.command(READ_ADVERTISING_FEATURES, index)
        return list(features[8 : 8 + features[7]])

    def take_advertisements(self, index: int) -> list[int]:
        """Removes every advertising instance; returns which ones existed."""
        taken = []
        for instance in range(1, self.command(READ_ADVERTISING_FEATURES, index)[6] + 1):
            try:
                self.command(REMOVE_ADVERTISING, index, bytes([instance]))
                taken.append(instance)
            except ManagementError as error:
                if error.status != INVALID_PARAMETERS:
                    raise
        return taken

    def wait_advertising(self, index: int, event: int, within: float = 60) -> int:
        """Waits until the kernel reports that an instance was added, or removed; returns its number."""
        return self.wait(lambda code, source, data: (code, source) == (event, index), within)[2][0]

    def remove_devices(self, index: int) -> None:
        """Has the kernel no longer wait for anybody: what a program that was killed leaves behind."""
        self.command(REMOVE_DEVICE, index, bytes(7))

    def remove_monitors(self, index: int) -> None:
        """Removes every advertisement monitor, as bluetoothd does at its start."""
        self.command(REMOVE_ADV_MONITOR, index, b"\x00\x00")

    def wait_monitor_added(self, index: int) -> None:
        self.wait(lambda code, source, data: (code, source) == (ADV_MONITOR_ADDED, index))

    def disconnect_all(self, index: int) -> None:
        """Drops every link and waits until it is gone: a connection made before that shares the fate of the old one."""
        data = self.command(GET_CONNECTIONS, index)
        for offset in range(2, len(data), 7):
            peer = data[offset : offset + 7]
            try:
                self.command(DISCONNECT, index, peer)
            except ManagementError:
                pass  # it ended by itself meanwhile
            while address_text(peer[:6]) in self.connections(index):
                self.wait(lambda code, source, facts: code == DEVICE_DISCONNECTED and facts[:7] == peer)
