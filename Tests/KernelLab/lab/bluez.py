"""What bluetoothd says on its bus."""

from __future__ import annotations

import asyncio

from dbus_fast import BusType, Message, MessageType
from dbus_fast.aio import MessageBus

from lab.peer import PATIENCE

MANAGER = "org.freedesktop.DBus.ObjectManager"
MATCH = f"type='signal',sender='org.bluez',interface='{MANAGER}',member='InterfacesAdded'"


async def adapter_is_there(name: str) -> None:
    """Waits until bluetoothd has an adapter."""
    path = f"/org/bluez/{name}"
    bus = await MessageBus(bus_type=BusType.SYSTEM).connect()
    added = asyncio.Event()
    bus.add_message_handler(lambda message: added.set() if message.member == "InterfacesAdded" else None)

    async def call(destination: str, path: str, interface: str, member: str, *body) -> list:
        signature = "s" * len(body)
        message = Message(destination, path, interface, member, signature=signature, body=list(body))
        reply = await bus.call(message)
        assert reply.message_type is not MessageType.ERROR, reply.body
        return reply.body

    try:
        async with asyncio.timeout(PATIENCE):
            await call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "AddMatch", MATCH)
            while path not in (await call("org.bluez", "/", MANAGER, "GetManagedObjects"))[0]:
                await added.wait()
                added.clear()
    finally:
        bus.disconnect()
