"""An agent of bluetoothd's, the default one, that says no to everything.

    python -m peers.bluez_agent

Prints `ready` when it is registered, `asked METHOD` and `released` as it happens.
"""

from __future__ import annotations

import asyncio

from dbus_fast import BusType, DBusError
from dbus_fast.aio import MessageBus
from dbus_fast.service import ServiceInterface, method

PATH = "/lab/agent"


class Agent(ServiceInterface):
    def __init__(self):
        super().__init__("org.bluez.Agent1")

    @method()
    def Release(self):
        print("released")

    @method()
    def Cancel(self):
        print("cancelled")

    @method()
    def RequestAuthorization(self, device: "o"):  # noqa: F821
        print("asked RequestAuthorization")
        raise DBusError("org.bluez.Error.Rejected", "no")

    @method()
    def RequestConfirmation(self, device: "o", passkey: "u"):  # noqa: F821
        print("asked RequestConfirmation")
        raise DBusError("org.bluez.Error.Rejected", "no")


async def main() -> None:
    bus = await MessageBus(bus_type=BusType.SYSTEM).connect()
    bus.export(PATH, Agent())
    introspection = await bus.introspect("org.bluez", "/org/bluez")
    manager = bus.get_proxy_object("org.bluez", "/org/bluez", introspection).get_interface("org.bluez.AgentManager1")
    await manager.call_register_agent(PATH, "NoInputNoOutput")
    await manager.call_request_default_agent(PATH)
    print("ready")
    await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    asyncio.run(main())
