"""bluetoothd as a peripheral: registers a GATT application and an advertisement with it over D-Bus.

    python -m peers.bluez_application SOCKET SERVER [ADAPTER ...]

SERVER is the adapter to be the peripheral on. Says `ready` once all the adapters named are powered, the
application is registered and the advertisement is on the air. Commands: `notify HEX`, `reset`, `blast COUNT`: so many
numbers of 20 octets, as fast as the bus takes them.
"""

from __future__ import annotations

import asyncio
import os
import sys

from dbus_fast import BusType, DBusError, Message, MessageType, PropertyAccess, Variant
from dbus_fast.aio import MessageBus
from dbus_fast.service import ServiceInterface, dbus_method, dbus_property

from lab import names
from peers.control import Control

BLUEZ = "org.bluez"
DEVICE = "org.bluez.Device1"
ROOT = "/lab"
SERVICE = f"{ROOT}/service0"
DEADLINE = 120
WATCH = f"type='signal',sender='{BLUEZ}'"


class GattService(ServiceInterface):
    def __init__(self):
        super().__init__("org.bluez.GattService1")

    @dbus_property(PropertyAccess.READ)
    def UUID(self) -> "s":
        return names.BLUEZ_SERVICE.lower()

    @dbus_property(PropertyAccess.READ)
    def Primary(self) -> "b":
        return True


class GattCharacteristic(ServiceInterface):
    def __init__(self, control: Control, label: str, uuid: str, flags: list[str], value: bytes):
        super().__init__("org.bluez.GattCharacteristic1")
        self.control, self.label, self.uuid, self.flags, self.value = control, label, uuid, flags, value

    @dbus_property(PropertyAccess.READ)
    def UUID(self) -> "s":
        return self.uuid.lower()

    @dbus_property(PropertyAccess.READ)
    def Service(self) -> "o":
        return SERVICE

    @dbus_property(PropertyAccess.READ)
    def Flags(self) -> "as":
        return self.flags

    @dbus_property(PropertyAccess.READ)
    def Value(self) -> "ay":
        return self.value

    @dbus_method()
    def ReadValue(self, options: "a{sv}") -> "ay":
        offset = options["offset"].value if "offset" in options else 0
        self.control.say("read", char=self.label, offset=offset)
        if offset > len(self.value):
            raise DBusError("org.bluez.Error.InvalidOffset", "beyond the end")
        return self.value[offset:]

    @dbus_method()
    def WriteValue(self, value: "ay", options: "a{sv}"):
        self.value = bytes(value)
        self.control.say("write", char=self.label, hex=self.value.hex())

    @dbus_method()
    def StartNotify(self):
        self.control.say("cccd", char=self.label, on=1)

    @dbus_method()
    def StopNotify(self):
        self.control.say("cccd", char=self.label, on=0)

    def notify(self, value: bytes) -> None:
        self.value = value
        self.emit_properties_changed({"Value": value})


class Advertisement(ServiceInterface):
    """Well below 31 octets: btvirt aborts beyond that."""

    def __init__(self):
        super().__init__("org.bluez.LEAdvertisement1")

    @dbus_property(PropertyAccess.READ)
    def Type(self) -> "s":
        return "peripheral"

    @dbus_property(PropertyAccess.READ)
    def ServiceUUIDs(self) -> "as":
        return [names.full(names.BATTERY)]

    @dbus_property(PropertyAccess.READ)
    def LocalName(self) -> "s":
        return names.BLUEZ_NAME

    @dbus_method()
    def Release(self):
        pass


async def powered_adapter(bus: MessageBus, adapter: str):
    """The proxy object of an adapter, once bluetoothd has it and it is powered."""
    path = f"/org/bluez/{adapter}"
    changed = asyncio.Event()
    root = bus.get_proxy_object(BLUEZ, "/", await bus.introspect(BLUEZ, "/"))
    objects = root.get_interface("org.freedesktop.DBus.ObjectManager")
    objects.on_interfaces_added(lambda *_: changed.set())
    while path not in await objects.call_get_managed_objects():
        await changed.wait()
        changed.clear()
    proxy = bus.get_proxy_object(BLUEZ, path, await bus.introspect(BLUEZ, path))
    properties = proxy.get_interface("org.freedesktop.DBus.Properties")
    properties.on_properties_changed(lambda *_: changed.set())
    await properties.call_set("org.bluez.Adapter1", "Powered", Variant("b", True))
    while not (await properties.call_get("org.bluez.Adapter1", "Powered")).value:
        await changed.wait()
        changed.clear()
    return proxy


async def bluetoothd_on(bus: MessageBus) -> None:
    """Waits until somebody owns bluetoothd's name."""
    proxy = bus.get_proxy_object(
        "org.freedesktop.DBus",
        "/org/freedesktop/DBus",
        await bus.introspect("org.freedesktop.DBus", "/org/freedesktop/DBus"),
    )
    interface = proxy.get_interface("org.freedesktop.DBus")
    owned = asyncio.Event()
    interface.on_name_owner_changed(lambda name, old, new: owned.set() if name == BLUEZ and new else None)
    if not await interface.call_name_has_owner(BLUEZ):
        await owned.wait()


class Links:
    """Waits until bluetoothd has cleared away every link.

    One that comes back earlier is refused everything: bluetoothd takes its socket for a second one of the old link
    (linux-bluetooth, "device_attach_att() may be reached when the dev is actually already disconnected").
    """

    def __init__(self, bus: MessageBus):
        self.bus = bus
        self.changed = asyncio.Event()

    async def start(self) -> None:
        self.bus.add_message_handler(self.heard)
        await self.call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.AddMatch", WATCH)

    def heard(self, message: Message) -> None:
        if message.message_type is MessageType.SIGNAL and message.path and message.path.startswith("/org/bluez"):
            self.changed.set()

    async def call(self, destination: str, path: str, method: str, *arguments: str):
        interface, _, member = method.rpartition(".")
        message = Message(
            destination=destination,
            path=path,
            interface=interface,
            member=member,
            signature="s" * len(arguments),
            body=list(arguments),
        )
        reply = await self.bus.call(message)
        if reply.message_type is MessageType.ERROR:
            raise RuntimeError(f"{member}: {reply.error_name}")
        return reply.body

    async def are_held(self) -> bool:
        (objects,) = await self.call(BLUEZ, "/", "org.freedesktop.DBus.ObjectManager.GetManagedObjects")
        devices = [interfaces[DEVICE] for interfaces in objects.values() if DEVICE in interfaces]
        return any(device["Connected"].value for device in devices)

    async def gone(self) -> None:
        while await self.are_held():
            await self.changed.wait()
            self.changed.clear()
        # It says so before it has read the end of the socket. Two answers later its loop has gone round.
        for _ in range(2):
            await self.are_held()


async def main(socket: str, server: str, *others: str) -> None:
    control = Control()
    bus = await MessageBus(bus_type=BusType.SYSTEM).connect()
    notifying = GattCharacteristic(control, "notify", names.BLUEZ_NOTIFY, ["notify"], b"")
    bus.export(SERVICE, GattService())
    for number, characteristic in enumerate(
        [
            GattCharacteristic(control, "short", names.BLUEZ_SHORT, ["read", "write"], names.BLUEZ_SHORT_BYTES),
            GattCharacteristic(control, "long", names.BLUEZ_LONG, ["read"], names.LONG_BYTES),
            notifying,
        ]
    ):
        bus.export(f"{SERVICE}/char{number}", characteristic)
    bus.export(f"{ROOT}/advertisement", Advertisement())

    async def notify(value: str) -> None:
        notifying.notify(bytes.fromhex(value))

    async def blast(count: str) -> None:
        # dbus-fast ends the connection where the bus has no room for a message.
        loop, descriptor, room = asyncio.get_running_loop(), os.dup(bus._sock.fileno()), asyncio.Event()
        for number in range(int(count)):
            room.clear()
            loop.add_writer(descriptor, room.set)
            await room.wait()
            loop.remove_writer(descriptor)
            notifying.notify(number.to_bytes(4, "little") + bytes(16))
        os.close(descriptor)

    links = Links(bus)
    await links.start()
    control.commands["notify"] = notify
    control.commands["blast"] = blast
    control.commands["reset"] = links.gone
    async with asyncio.timeout(DEADLINE):
        await bluetoothd_on(bus)
        for adapter in others:
            await powered_adapter(bus, adapter)
        proxy = await powered_adapter(bus, server)
        await proxy.get_interface("org.bluez.GattManager1").call_register_application(ROOT, {})
        advertising = proxy.get_interface("org.bluez.LEAdvertisingManager1")
        await advertising.call_register_advertisement(f"{ROOT}/advertisement", {})
    await control.serve(socket)
    control.say("ready", adapter=server)
    await bus.wait_for_disconnect()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
