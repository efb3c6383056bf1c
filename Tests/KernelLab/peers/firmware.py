"""Two ways to bring firmware into the peripheral: MCUmgr, whose messages are those of the `smp` package, and the plain
protocol. Both keep what they have when the link is lost, and can be told to lose it themselves.

Says `firmware kind=... size=... sha256=...` when an image is whole, and `restarted` when the device has reset itself.
"""

from __future__ import annotations

import asyncio
import hashlib
import struct
from collections.abc import Callable

import cbor2
from bumble import att
from bumble.device import Connection, Device
from bumble.gatt import Characteristic, CharacteristicValue, Service
from smp import image_management, os_management
from smp.error import MGMT_ERR

from lab import names
from peers.control import Control

Properties = Characteristic.Properties
READABLE = Characteristic.READABLE
WRITEABLE = Characteristic.WRITEABLE
VALUE_NOT_ALLOWED = 0x13  # Core Specification, Vol 3, Part F, 3.4.1.1


class Losing:
    """Loses the link when an upload has come so far, once for each place."""

    def __init__(self, lose: Callable[[], None]):
        self.lose = lose
        self.places: list[int] = []

    def came_to(self, offset: int) -> None:
        if self.places and offset >= self.places[0]:
            self.places.pop(0)
            asyncio.get_running_loop().call_soon(self.lose)


class Notifier:
    """Notifies one value after the other."""

    def __init__(self, device: Device, start: Callable):
        self.device = device
        self.queue: asyncio.Queue = asyncio.Queue()
        self.start = start
        self.task = None

    def notify(self, connection: Connection, characteristic: Characteristic, value: bytes) -> None:
        if self.task is None:
            self.task = self.start(self.run())
        self.queue.put_nowait((connection, characteristic, value))

    async def run(self) -> None:
        while True:
            connection, characteristic, value = await self.queue.get()
            size = connection.att_mtu - 3
            for part in [value[i : i + size] for i in range(0, len(value), size)]:
                await self.device.notify_subscriber(connection, characteristic, part)


def boot_hash(image: bytes) -> bytes:
    """The hash in the trailer of an image for MCUboot."""
    header_size, protected = struct.unpack_from("<HH", image, 8)
    (size,) = struct.unpack_from("<I", image, 12)
    position = header_size + size + protected
    (magic, total) = struct.unpack_from("<HH", image, position)
    assert magic == 0x6907, hex(magic)
    end, position = position + total, position + 4
    while position < end:
        kind, length = struct.unpack_from("<HH", image, position)
        if kind == 0x10:
            return image[position + 4 : position + 4 + length]
        position += 4 + length
    raise ValueError("no hash")


class MCUmgr:
    """Two slots, as Zephyr has them. Requests are parsed strictly: a field too many is an error."""

    def __init__(self, control: Control, notifier: Notifier, losing: Losing):
        self.control, self.notifier, self.losing = control, notifier, losing
        self.restore()
        self.characteristic = Characteristic(
            names.SMP_CHARACTERISTIC,
            Properties.WRITE_WITHOUT_RESPONSE | Properties.NOTIFY,
            READABLE | WRITEABLE,
            CharacteristicValue(write=self.on_write),
        )
        self.service = Service(names.SMP_SERVICE, [self.characteristic])
        self.handlers = {
            (0, 1, 0): (image_management.ImageStatesReadRequest, self.states),
            (2, 1, 0): (image_management.ImageStatesWriteRequest, self.mark),
            (2, 1, 1): (image_management.ImageUploadWriteRequest, self.upload),
            (0, 0, 6): (os_management.MCUMgrParametersReadRequest, self.parameters),
            (2, 0, 5): (os_management.ResetWriteRequest, self.reset),
        }

    def restore(self) -> None:
        self.images: list[bytes | None] = [None, None]
        self.pending = self.permanent = False
        self.confirmed = True
        self.expected: tuple[int, bytes] | None = None
        self.data = b""
        self.requests = 0
        self.part: tuple[int | None, bytes] = (None, b"")  # of a request in several writes, and the link's handle

    def on_write(self, connection: Connection, value: bytes) -> None:
        """As Zephyr with CONFIG_MCUMGR_TRANSPORT_BT_REASSEMBLY: a request may take several writes."""
        link, before = self.part
        value = (before if link == connection.handle else b"") + bytes(value)
        if len(value) < 8 + int.from_bytes(value[2:4], "big"):
            self.part = (connection.handle, value)
            return
        self.part = (None, b"")
        self.take(connection, value)

    def take(self, connection: Connection, value: bytes) -> None:
        # By hand: the package refuses the header of a command that it doesn't know, as a device does not.
        operation, _flags, _length, group, sequence, command = struct.unpack(">BBHHBB", value[:8])
        key = (operation & 7, group, command)
        if key not in self.handlers:
            body = cbor2.dumps({"rc": int(MGMT_ERR.ENOTSUP)})
            answer = struct.pack(">BBHHBB", operation + 1, 0, len(body), group, sequence, command) + body
        else:
            request_type, handle = self.handlers[key]
            try:
                answer = handle(request_type.loads(bytes(value)), sequence)
            except Exception as error:
                self.control.say("failed", error=repr(error))
                raise
        self.notifier.notify(connection, self.characteristic, bytes(answer))
        if key == (2, 0, 5):
            asyncio.get_running_loop().call_later(0.5, self.restart, connection)

    def parameters(self, _request, sequence):
        return os_management.MCUMgrParametersReadResponse(sequence=sequence, buf_size=2048, buf_count=5)

    def reset(self, _request, sequence):
        return os_management.ResetWriteResponse(sequence=sequence)

    def restart(self, connection: Connection) -> None:
        if self.pending or not self.confirmed:
            self.images.reverse()
            self.confirmed = self.permanent or not self.pending
        self.pending = self.permanent = False
        self.control.say("restarted", confirmed=int(self.confirmed))
        asyncio.ensure_future(connection.disconnect())

    def list_of_states(self):
        states = []
        for slot, image in enumerate(self.images):
            if image is not None:
                states.append(
                    image_management.ImageState(
                        slot=slot,
                        version="1.0.0",
                        hash=boot_hash(image),
                        bootable=True,
                        pending=slot == 1 and self.pending,
                        confirmed=slot == 0 and self.confirmed,
                        active=slot == 0,
                        permanent=slot == 1 and self.permanent,
                    )
                )
        return states

    def states(self, _request, sequence):
        return image_management.ImageStatesReadResponse(sequence=sequence, images=self.list_of_states())

    def mark(self, request, sequence):
        running, other = self.images
        if other is not None and request.hash == boot_hash(other):
            self.pending, self.permanent = True, request.confirm
        elif running is not None and request.confirm and request.hash in (None, boot_hash(running)):
            self.confirmed = True
            self.control.say("confirmed-image")
        return image_management.ImageStatesWriteResponse(sequence=sequence, images=self.list_of_states())

    def upload(self, request, sequence):
        self.requests += 1
        match = None
        if request.off == 0:
            if self.expected != (request.len, request.sha):
                self.expected, self.data = (request.len, request.sha), b""
        if request.off == len(self.data):
            self.data += request.data
            if self.expected and len(self.data) == self.expected[0]:
                match = hashlib.sha256(self.data).digest() == self.expected[1]
                self.images[1] = self.data
                self.control.say(
                    "firmware",
                    kind="mcumgr",
                    size=len(self.data),
                    sha256=hashlib.sha256(self.data).hexdigest(),
                    requests=self.requests,
                )
                self.expected = None
            self.losing.came_to(len(self.data))
        fields = {} if match is None else {"match": match}
        return image_management.ImageUploadWriteResponse(sequence=sequence, off=len(self.data), **fields)


class Plain:
    """The plain protocol of the package, written from its description."""

    MODEL = 7
    CAPACITY = 1 << 20
    WINDOW = 8192
    IDLE, RECEIVING, COMPLETE, FAILED = range(4)

    def __init__(self, control: Control, notifier: Notifier, losing: Losing):
        self.control, self.notifier, self.losing = control, notifier, losing
        self.restore()
        self.status = Characteristic(
            names.UPDATE_STATUS,
            Properties.READ | Properties.NOTIFY,
            READABLE,
            CharacteristicValue(read=lambda _: self.octets()),
        )
        self.service = Service(
            names.UPDATE_SERVICE,
            [
                self.status,
                Characteristic(
                    names.UPDATE_CONTROL, Properties.WRITE, WRITEABLE, CharacteristicValue(write=self.on_control)
                ),
                Characteristic(
                    names.UPDATE_DATA,
                    Properties.WRITE | Properties.WRITE_WITHOUT_RESPONSE,
                    WRITEABLE,
                    CharacteristicValue(write=self.on_data),
                ),
            ],
        )

    def restore(self) -> None:
        self.state, self.failure, self.size, self.sha256, self.data, self.granted = self.IDLE, 0, 0, bytes(32), b"", 0

    def octets(self) -> bytes:
        window = max(0, self.granted - len(self.data)) if self.state == self.RECEIVING else 0
        head = struct.pack("<BBHI", self.state, self.failure, self.MODEL, self.CAPACITY)
        return head + self.sha256[:4] + struct.pack("<II", len(self.data), window)

    def on_control(self, connection: Connection, value: bytes) -> None:
        if value[:1] == b"\x01" and len(value) == 39:
            self.restore()
            self.size, model = struct.unpack_from("<IH", value, 1)
            self.sha256 = bytes(value[7:])
            self.state = self.RECEIVING if model == self.MODEL and self.size <= self.CAPACITY else self.FAILED
            self.granted = min(self.size, self.WINDOW)
        elif bytes(value) == b"\x02":
            self.restore()
        else:
            raise att.ATT_Error(VALUE_NOT_ALLOWED)
        self.notifier.notify(connection, self.status, self.octets())

    def on_data(self, connection: Connection, value: bytes) -> None:
        if self.state != self.RECEIVING:
            return
        self.data += bytes(value)
        if len(self.data) >= self.size:
            right = hashlib.sha256(self.data).digest() == self.sha256
            self.state, self.failure = (self.COMPLETE, 0) if right else (self.FAILED, 3)
            self.control.say(
                "firmware", kind="plain", size=len(self.data), sha256=hashlib.sha256(self.data).hexdigest()
            )
        elif self.granted - len(self.data) <= self.WINDOW // 2 and self.granted < self.size:
            self.granted = min(self.size, len(self.data) + self.WINDOW)
        else:
            return self.losing.came_to(len(self.data))
        self.notifier.notify(connection, self.status, self.octets())
        self.losing.came_to(len(self.data))
