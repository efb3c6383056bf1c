"""A program that scans through bluetoothd for as long as it runs, as those on top of its D-Bus interface do.

    python -m peers.bluez_discovery ADAPTER

Prints `discovering` once bluetoothd has said yes, and `discovering ended` where bluetoothd says that it doesn't any more.
"""

from __future__ import annotations

import asyncio
import sys

from dbus_fast import BusType, Variant
from dbus_fast.aio import MessageBus


async def main(adapter: str) -> None:
    bus = await MessageBus(bus_type=BusType.SYSTEM).connect()
    path = f"/org/bluez/{adapter}"
    proxy = bus.get_proxy_object("org.bluez", path, await bus.introspect("org.bluez", path))

    def changed(interface: str, properties: dict, invalidated: list) -> None:
        if "Discovering" in properties and not properties["Discovering"].value:
            print("discovering ended")

    proxy.get_interface("org.freedesktop.DBus.Properties").on_properties_changed(changed)
    radio = proxy.get_interface("org.bluez.Adapter1")
    await radio.call_set_discovery_filter({"Transport": Variant("s", "le")})
    await radio.call_start_discovery()
    print("discovering")
    await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
