"""The GATT server of the peripheral: a heart rate sensor, a battery, a vendor service full of trials, and firmware."""

from __future__ import annotations

import asyncio
import struct

from bumble import att
from bumble.core import UUID
from bumble.device import Connection, Device
from bumble.gatt import GATT_CLIENT_CHARACTERISTIC_CONFIGURATION_DESCRIPTOR, Characteristic, CharacteristicValue, Descriptor, Service

from lab import names
from peers.control import Control
from peers.firmware import Losing, MCUmgr, Notifier, Plain

Properties = Characteristic.Properties
READABLE = Characteristic.READABLE
WRITEABLE = Characteristic.WRITEABLE
USER_DESCRIPTION = "2901"
BUFFERS = 50  # notifications that a device holds for its controller


class Services:
    """The services of one device. Everything that happens to them is said through `control`."""

    def __init__(self, device: Device, control: Control, lose):
        self.device = device
        self.control = control
        self.tasks: set[asyncio.Task] = set()
        # What an attribute asks for beyond its permissions, by its handle.
        self.guards: dict[int, str] = {}
        self.labels: dict[int, str] = {}
        notifier = Notifier(device, self.start)
        self.losing = Losing(lose)
        self.firmware = [MCUmgr(control, notifier, self.losing), Plain(control, notifier, self.losing)]
        self.restore()

        self.heart_rate = self.notifying("heart-rate", names.HEART_RATE_MEASUREMENT)
        location = Characteristic(names.BODY_SENSOR_LOCATION, Properties.READ, READABLE, b"\x01")
        battery = Service(names.BATTERY, [Characteristic(names.BATTERY_LEVEL, Properties.READ, READABLE, b"\x57")])
        vendor = Service(names.VENDOR, self.vendor_characteristics(), included_services=[battery])
        heart = Service(names.HEART_RATE, [self.heart_rate, location])
        device.add_services([heart, battery, vendor, *(firmware.service for firmware in self.firmware)])

    def restore(self) -> None:
        """Values as they were at the start."""
        self.values = {"value": names.VALUE_BYTES, "long": names.LONG_BYTES}
        self.silent = True
        self.guards = {}
        self.losing.places = []
        for firmware in self.firmware:
            firmware.restore()

    def vendor_characteristics(self) -> list[Characteristic]:
        access = Properties.READ | Properties.WRITE
        description = Descriptor(USER_DESCRIPTION, Descriptor.READABLE, b"a value to play with")
        read_only = CharacteristicValue(read=lambda _: names.READ_ONLY_BYTES, write=self.refuse)
        silent = CharacteristicValue(read=self.read_silent)
        return [
            Characteristic(
                names.VALUE,
                access | Properties.WRITE_WITHOUT_RESPONSE,
                READABLE | WRITEABLE,
                self.stored("value"),
                [description],
            ),
            Characteristic(names.LONG, access, READABLE | WRITEABLE, self.stored("long")),
            Characteristic(names.READ_ONLY, Properties.READ, READABLE, read_only),
            self.notifying("thousand", names.THOUSAND, self.send_thousand),
            self.notifying("message", names.MESSAGE, self.send_message),
            self.notifying("early", names.EARLY, self.send_late, at_once=self.send_early),
            self.notifying("broken", names.BROKEN, self.send_and_drop),
            Characteristic(names.SILENT, Properties.READ, READABLE, silent),
            self.notifying("indicated", names.INDICATED, self.indicate, properties=Properties.INDICATE),
            Characteristic(
                names.SECRET,
                Properties.READ,
                READABLE | Characteristic.READ_REQUIRES_ENCRYPTION,
                names.SECRET_BYTES,
            ),
        ]

    # Who may

    def guard(self, what: str, level: str) -> None:
        """Has the value of SECRET, or the switch of the heart rate's notifications, ask for a level of security."""
        if what == "secret":
            wanted = next(c for c in self.characteristics() if c.uuid == UUID(names.SECRET)).handle
        else:
            switches = GATT_CLIENT_CHARACTERISTIC_CONFIGURATION_DESCRIPTOR
            behind = (a for a in self.device.gatt_server.attributes if a.handle > self.heart_rate.handle)
            wanted = next(a.handle for a in behind if a.type == switches)
        self.guards[wanted] = level

    def characteristics(self):
        return (attribute for attribute in self.device.gatt_server.attributes if isinstance(attribute, Characteristic))

    def refuses(self, connection: Connection, handle: int) -> bool:
        """Whether a request for an attribute is answered with Insufficient Authentication."""
        level = self.guards.get(handle)
        if level is None or not connection.is_encrypted:
            return level is not None
        return level == "authenticated" and not self.is_authenticated()

    def is_authenticated(self) -> bool:
        """Whether somebody has made sure of a bond. Bumble itself takes each encrypted link for authenticated."""
        bonds = self.device.keystore.all_keys.values()
        keys = [key for bond in bonds for key in (bond.ltk, bond.ltk_central, bond.ltk_peripheral) if key]
        return any(key.authenticated for key in keys)

    # What characteristics do

    def stored(self, label: str) -> CharacteristicValue:
        def read(_connection):
            self.control.say("read", char=label)
            return self.values[label]

        def write(_connection, value):
            self.values[label] = bytes(value)
            self.control.say("write", char=label, length=len(value), hex=value.hex())

        return CharacteristicValue(read=read, write=write)

    def refuse(self, _connection, value):
        self.control.say("write-refused", hex=value.hex())
        raise att.ATT_Error(att.ATT_WRITE_NOT_PERMITTED_ERROR)

    async def read_silent(self, _connection):
        self.control.say("read", char="silent")
        if self.silent:
            await asyncio.get_running_loop().create_future()
        return names.SILENT_BYTES

    def notifying(self, label, uuid, on_subscription=None, at_once=None, properties=Properties.NOTIFY):
        """A characteristic that starts `on_subscription` when its CCCD is written on, and `at_once` still within
        that write, that is before the write response leaves."""
        characteristic = Characteristic(uuid, properties, READABLE, b"")

        def on_cccd(connection, notify, indicate):
            on = notify or indicate
            self.control.say("cccd", char=label, on=int(on), kind="indicate" if indicate else "notify")
            if on and at_once:
                at_once(connection, characteristic)
            if on and on_subscription:
                self.start(on_subscription(connection, characteristic))

        characteristic.on("subscription", on_cccd)
        return characteristic

    def start(self, work) -> asyncio.Task:
        task = asyncio.ensure_future(work)
        self.tasks.add(task)  # asyncio itself keeps only a weak reference
        task.add_done_callback(self.on_task_end)
        return task

    def on_task_end(self, task: asyncio.Task) -> None:
        self.tasks.discard(task)
        if not task.cancelled() and task.exception():
            self.control.say("failed", error=repr(task.exception()))

    async def send(self, connection: Connection, characteristic: Characteristic, values) -> None:
        """Keeps a device's few buffers full: with all values in its queue at once, it would answer nothing before the
        last has left, and a request would meet its end after 30 s."""
        for number, value in enumerate(values, start=1):
            await self.device.notify_subscriber(connection, characteristic, value)
            if number % BUFFERS == 0:
                await connection.drain()

    async def send_thousand(self, connection, characteristic):
        await self.send(connection, characteristic, (struct.pack("<I", number) for number in range(1000)))
        self.control.say("sent", char="thousand", count=1000)

    async def send_message(self, connection, characteristic):
        chunks = self.chunks(connection)
        await self.send(connection, characteristic, [*chunks, names.END_MARK])
        self.control.say("sent", char="message", count=len(chunks), bytes=len(names.MESSAGE_BYTES))

    def chunks(self, connection) -> list[bytes]:
        size = connection.att_mtu - 3
        return [names.MESSAGE_BYTES[i : i + size] for i in range(0, len(names.MESSAGE_BYTES), size)]

    def send_early(self, connection, characteristic):
        for value in names.EARLY_VALUES[:3]:
            pdu = att.ATT_Handle_Value_Notification(
                attribute_handle=characteristic.handle, attribute_value=value
            )
            self.device.gatt_server.send_gatt_pdu(connection, bytes(pdu))
        self.control.say("sent", char="early", count=3)

    async def send_late(self, connection, characteristic):
        await self.send(connection, characteristic, names.EARLY_VALUES[3:])
        self.control.say("sent", char="late", count=2)

    async def send_and_drop(self, connection, characteristic):
        chunks = self.chunks(connection)[: names.BROKEN_CHUNKS]
        await self.send(connection, characteristic, chunks)
        await connection.drain()
        self.control.say("sent", char="broken", count=len(chunks), bytes=sum(map(len, chunks)))
        await connection.disconnect()

    async def indicate(self, connection, characteristic):
        for number in range(names.INDICATIONS):
            await self.device.indicate_subscriber(connection, characteristic, struct.pack("<I", number))
            self.control.say("confirmed", number=number)

    # What the scenarios compare with

    def tree(self) -> list[dict]:
        """The server's attributes as Bumble laid them out: services, characteristics, descriptors."""
        services: list[dict] = []
        for attribute in self.device.gatt_server.attributes:
            if isinstance(attribute, Service):
                services.append(
                    {
                        "handle": attribute.handle,
                        "uuid": names.full(attribute.uuid.to_hex_str("-")),
                        "end": attribute.end_group_handle,
                        "characteristics": [],
                    }
                )
            elif isinstance(attribute, Characteristic):
                services[-1]["characteristics"].append(
                    {
                        "handle": attribute.handle,
                        "uuid": names.full(attribute.uuid.to_hex_str("-")),
                        "properties": int(attribute.properties),
                        "descriptors": [],
                    }
                )
            elif isinstance(attribute, Descriptor):
                services[-1]["characteristics"][-1]["descriptors"].append(
                    {"handle": attribute.handle, "uuid": names.full(attribute.type.to_hex_str("-"))}
                )
        return services
