"""A program beside ours that does everything with bluetoothd, as a desktop or a gateway does.

    python -m peers.bluez_neighbour SOCKET ADAPTER

It has an agent that agrees to everything. Says `ready`, then `number value=N` for each number that its subscription
brings, in order, and `unfollowed` when that ends. Commands:

    bond ADDRESS        looks for it, pairs with it and waits for its services; `again ADDRESS` connects to it once more,
                        `disconnect` ends its link
    follow UUID         subscribes, on a socket of its own: bluetoothd merges property changes
    read UUID           a value of the device
    facts               what bluetoothd says of the device and of the adapter, as JSON
    scan on|off         bluetoothd's discovery, by this program
    seen ADDRESS        waits until that discovery has found it
    advertise ADAPTER   has bluetoothd advertise on that adapter; `active ADAPTER`: how many it says are on the air
    anew                after a bluetoothd that has gone: its agent, when the next one is there
"""

from __future__ import annotations

import asyncio
import json
import os
import struct
import sys

from dbus_fast import BusType, DBusError, Variant
from dbus_fast.aio import MessageBus
from dbus_fast.service import ServiceInterface, method

from peers.bluez_application import bluetoothd_on
from peers.bluez_central import ADVERTISEMENT, ADVERTISING, BLUEZ, DEVICE, Central
from peers.control import Control

AGENT = "/lab/neighbour"
ADAPTER = "org.bluez.Adapter1"
LONGEST_VALUE = 512


class Agent(ServiceInterface):
    """Says yes by returning."""

    def __init__(self):
        super().__init__("org.bluez.Agent1")

    @method()
    def Release(self):
        pass

    @method()
    def Cancel(self):
        pass

    @method()
    def RequestAuthorization(self, device: "o"):  # noqa: F821
        pass

    @method()
    def RequestConfirmation(self, device: "o", passkey: "u"):  # noqa: F821
        pass


class Neighbour(Central):
    async def anew(self) -> None:
        await bluetoothd_on(self.bus)
        await self.start()
        manager = await self.proxy("/org/bluez", "org.bluez.AgentManager1")
        await manager.call_register_agent(AGENT, "NoInputNoOutput")
        await manager.call_request_default_agent(AGENT)

    def path_of(self, address: str) -> str:
        return f"/org/bluez/{self.adapter}/dev_{address.replace(':', '_')}"

    async def scan(self, state: str) -> None:
        await (self.discover() if state == "on" else self.radio.call_stop_discovery())

    async def seen(self, address: str) -> None:
        async def found():
            return True if self.path_of(address) in await self.objects() else None

        await self.until(found, f"{address} seen")

    async def bond(self, address: str) -> None:
        self.path = self.path_of(address)
        await self.scan("on")
        await self.seen(address)
        await self.scan("off")
        device = await self.proxy(self.path, DEVICE)
        await device.call_pair()
        await self.resolved()

    async def again(self, address: str) -> None:
        """bluetoothd gives up a connection now and then, and says so: then it is asked once more."""
        self.path = self.path_of(address)

        async def connected():
            try:
                await (await self.proxy(self.path, DEVICE)).call_connect()
                return True
            except DBusError as error:
                self.control.say("refused", error=error.type)
                return None

        await self.until(connected, f"{address} connected")
        await self.resolved()

    async def resolved(self) -> None:
        async def services():
            return True if await (await self.proxy(self.path, DEVICE)).get_services_resolved() else None

        await self.until(services, "services resolved")

    async def follow(self, uuid: str) -> None:
        _, characteristic = await self.characteristic(uuid)
        file, _ = await characteristic.call_acquire_notify({})
        asyncio.get_running_loop().add_reader(file, self.take, file)

    def take(self, file: int) -> None:
        try:
            value = os.read(file, LONGEST_VALUE)
        except OSError:
            value = b""
        if value:
            self.control.say("number", value=struct.unpack("<I", value)[0])
            return
        asyncio.get_running_loop().remove_reader(file)
        os.close(file)
        self.control.say("unfollowed")

    async def facts(self) -> str:
        objects = await self.objects()
        device = objects.get(self.path, {}).get(DEVICE, {})
        facts = {name: device[name].value for name in ("Paired", "Bonded", "Connected") if name in device}
        return json.dumps(facts | {"Discovering": objects[f"/org/bluez/{self.adapter}"][ADAPTER]["Discovering"].value})

    async def advertise(self, adapter: str) -> None:
        self.bus.unexport(ADVERTISEMENT)
        await super().advertise(adapter)

    async def active(self, adapter: str) -> str:
        manager = await self.proxy(f"/org/bluez/{adapter}", ADVERTISING)
        return str(await manager.get_active_instances())


async def main(socket: str, adapter: str) -> None:
    control = Control()
    bus = await MessageBus(bus_type=BusType.SYSTEM, negotiate_unix_fd=True).connect()
    bus.export(AGENT, Agent())
    neighbour = Neighbour(bus, adapter, control)
    await neighbour.anew()
    device = (neighbour.bond, neighbour.again, neighbour.disconnect, neighbour.follow, neighbour.read, neighbour.facts)
    for command in (*device, neighbour.scan, neighbour.seen, neighbour.advertise, neighbour.active, neighbour.anew):
        control.commands[command.__name__] = command
    await control.serve(socket)
    control.say("ready", adapter=adapter)
    await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
