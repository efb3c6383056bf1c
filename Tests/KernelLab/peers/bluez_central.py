"""bluetoothd as a central, through its own D-Bus interface.

    python -m peers.bluez_central SOCKET ADAPTER

Says `ready` when the adapter is powered, `notified uuid=… hex=…` for each value that bluetoothd tells of. Commands:

    connect ADDRESS     looks for it, connects, waits until bluetoothd has resolved its services
    tree                the UUIDs of services and characteristics as JSON
    read UUID           write UUID HEX       subscribe UUID       disconnect
    listen ADDRESS      scans, and says `heard uuid=… data=…` of the data of services that it advertises, now and whenever bluetoothd
                        tells of other; `hush` ends that
    advertise ADAPTER   has bluetoothd advertise something else on that adapter; `withdraw ADAPTER` ends it
"""

from __future__ import annotations

import asyncio
import json
import sys

from dbus_fast import BusType, DBusError, Variant
from dbus_fast.aio import MessageBus

from peers.bluez_application import Advertisement
from peers.control import Control

BLUEZ = "org.bluez"
DEVICE = "org.bluez.Device1"
SERVICE = "org.bluez.GattService1"
CHARACTERISTIC = "org.bluez.GattCharacteristic1"
PROPERTIES = "org.freedesktop.DBus.Properties"
ADVERTISING = "org.bluez.LEAdvertisingManager1"
ADVERTISEMENT = "/lab/advertisement"
DEADLINE = 100


class Central:
    def __init__(self, bus: MessageBus, adapter: str, control: Control):
        self.bus, self.adapter, self.control = bus, adapter, control
        self.path = None
        self.watched = []

    async def proxy(self, path: str, interface: str):
        introspection = await self.bus.introspect(BLUEZ, path)
        return self.bus.get_proxy_object(BLUEZ, path, introspection).get_interface(interface)

    async def objects(self) -> dict:
        manager = await self.proxy("/", "org.freedesktop.DBus.ObjectManager")
        return await manager.call_get_managed_objects()

    async def until(self, found, what: str):
        """Asks until there is an answer: bluetoothd needs its time for everything."""
        deadline = asyncio.get_running_loop().time() + DEADLINE
        while (result := await found()) is None:
            if asyncio.get_running_loop().time() > deadline:
                raise TimeoutError(what)
            await asyncio.sleep(0.2)
        return result

    async def start(self) -> None:
        async def powered():
            try:
                adapter = await self.proxy(f"/org/bluez/{self.adapter}", "org.bluez.Adapter1")
                await adapter.set_powered(True)
                return adapter
            except DBusError:
                return None

        self.radio = await self.until(powered, f"{self.adapter} powered")

    async def discover(self, options: dict | None = None) -> None:
        """The kernel begins one discovery at a time. A bluetoothd that asks while it begins another program's hands the
        refusal on to its client, which is to ask again; a moment later bluetoothd knows of the other one, and stops it."""
        await self.radio.call_set_discovery_filter({"Transport": Variant("s", "le")} | (options or {}))

        async def begun():
            try:
                await self.radio.call_start_discovery()
                return True
            except DBusError as error:
                if error.type != "org.bluez.Error.InProgress":
                    raise
                self.control.say("refused", error=error.type)
                return None

        await self.until(begun, f"{self.adapter} discovering")

    def place(self, address: str) -> str:
        return f"/org/bluez/{self.adapter}/dev_{address.replace(':', '_')}"

    async def listen(self, address: str) -> None:
        path = self.place(address)
        await self.discover({"DuplicateData": Variant("b", True)})

        async def seen():
            return True if path in await self.objects() else None

        await self.until(seen, f"{address} seen")
        properties = await self.proxy(path, PROPERTIES)

        def changed(interface, values, _):
            for uuid, octets in (values["ServiceData"].value if "ServiceData" in values else {}).items():
                self.control.say("heard", uuid=uuid, data=bytes(octets.value).hex() or "-")

        properties.on_properties_changed(changed)
        self.watched.append(properties)
        changed(DEVICE, (await self.objects())[path][DEVICE], [])

    async def hush(self) -> None:
        await self.radio.call_stop_discovery()

    async def connect(self, address: str) -> None:
        path = self.place(address)

        async def seen():
            return True if path in await self.objects() else None

        if await seen() is None:
            await self.discover()
            await self.until(seen, f"{address} seen")
            await self.radio.call_stop_discovery()
        self.path = path
        device = await self.proxy(path, DEVICE)
        await device.call_connect()

        async def resolved():
            return True if await device.get_services_resolved() else None

        await self.until(resolved, "services resolved")

    async def disconnect(self) -> None:
        await (await self.proxy(self.path, DEVICE)).call_disconnect()

    async def tree(self) -> str:
        found: dict[str, list[str]] = {}
        objects = await self.objects()
        for path, interfaces in objects.items():
            if path.startswith(self.path) and CHARACTERISTIC in interfaces:
                service = objects[interfaces[CHARACTERISTIC]["Service"].value][SERVICE]["UUID"].value
                found.setdefault(service, []).append(interfaces[CHARACTERISTIC]["UUID"].value)
        return json.dumps(found)

    async def characteristic(self, uuid: str):
        for path, interfaces in (await self.objects()).items():
            known = interfaces.get(CHARACTERISTIC)
            if path.startswith(self.path) and known and known["UUID"].value == uuid.lower():
                return path, await self.proxy(path, CHARACTERISTIC)
        raise LookupError(uuid)

    async def read(self, uuid: str) -> str:
        _, characteristic = await self.characteristic(uuid)
        return bytes(await characteristic.call_read_value({})).hex()

    async def write(self, uuid: str, value: str) -> None:
        _, characteristic = await self.characteristic(uuid)
        await characteristic.call_write_value(bytes.fromhex(value), {"type": Variant("s", "request")})

    async def subscribe(self, uuid: str) -> None:
        path, characteristic = await self.characteristic(uuid)
        properties = await self.proxy(path, PROPERTIES)

        def changed(interface, values, _):
            if "Value" in values:
                self.control.say("notified", uuid=uuid.lower(), hex=bytes(values["Value"].value).hex() or "-")

        properties.on_properties_changed(changed)
        self.watched.append(properties)
        await characteristic.call_start_notify()

    async def advertise(self, adapter: str) -> None:
        self.bus.export(ADVERTISEMENT, Advertisement())
        manager = await self.proxy(f"/org/bluez/{adapter}", ADVERTISING)
        await manager.call_register_advertisement(ADVERTISEMENT, {})

    async def withdraw(self, adapter: str) -> None:
        manager = await self.proxy(f"/org/bluez/{adapter}", ADVERTISING)
        await manager.call_unregister_advertisement(ADVERTISEMENT)
        self.bus.unexport(ADVERTISEMENT)


async def main(socket: str, adapter: str) -> None:
    control = Control()
    bus = await MessageBus(bus_type=BusType.SYSTEM).connect()
    central = Central(bus, adapter, control)
    await central.start()
    gatt = (central.tree, central.read, central.write, central.subscribe)
    others = (central.listen, central.hush, central.advertise, central.withdraw)
    for command in (central.connect, central.disconnect, *gatt, *others):
        control.commands[command.__name__] = command
    await control.serve(socket)
    control.say("ready", adapter=adapter)
    await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
