"""A Home Assistant, as `ble proxy` sees it: aioesphomeapi, the client of its integration ESPHome."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

from aioesphomeapi import APIClient

from lab.peer import PATIENCE


def number(address: str) -> int:
    """An address in the client's form."""
    return int(address.replace(":", ""), 16)


class Device:
    """A connection to a peripheral through the proxy, and what it reported to the client."""

    def __init__(self, client: APIClient, address: str):
        self.client = client
        self.address = number(address)
        self.states: list[tuple[bool, int, int]] = []
        self.changed = asyncio.Event()
        self.values: list[bytes] = []

    def told(self, connected: bool, mtu: int, error: int) -> None:
        self.states.append((connected, mtu, error))
        self.changed.set()

    async def connect(self, features: int) -> None:
        await self.client.bluetooth_device_connect(
            self.address, self.told, timeout=PATIENCE, feature_flags=features, address_type=1
        )

    async def wait(self, found) -> None:
        """Waits until the reported state is the wanted one."""
        async with asyncio.timeout(PATIENCE):
            while not found(self):
                self.changed.clear()
                await self.changed.wait()

    async def handle(self, uuid: str) -> int:
        """The handle of a characteristic's value."""
        services = (await self.client.bluetooth_gatt_get_services(self.address)).services
        return next(c.handle for s in services for c in s.characteristics if c.uuid == uuid)

    async def notify(self, handle: int) -> None:
        """Subscribes as Home Assistant does: with the proxy, and then by writing the descriptor after the value."""

        def came(_: int, value: bytearray) -> None:
            self.values.append(bytes(value))
            self.changed.set()

        self.stop, _ = await self.client.bluetooth_gatt_start_notify(self.address, handle, came)
        await self.client.bluetooth_gatt_write_descriptor(self.address, handle + 1, b"\x01\x00")


class Home:
    """One client of a proxy."""

    def __init__(self, client: APIClient, features: int):
        self.client = client
        self.features = features
        self.adverts: dict[int, bytes] = {}
        self.places: list[tuple[int, int, list[int]]] = []
        self.changed = asyncio.Event()

    def listen(self) -> None:
        """Subscribes to all advertisements, and to the number of free connections."""

        def heard(message) -> None:
            for advertisement in message.advertisements:
                self.adverts[advertisement.address] = bytes(advertisement.data)
            self.changed.set()

        def free(count: int, limit: int, used: list[int]) -> None:
            self.places.append((count, limit, list(used)))
            self.changed.set()

        self.unsubscribe = self.client.subscribe_bluetooth_le_raw_advertisements(heard)
        self.client.subscribe_bluetooth_connections_free(free)

    async def wait(self, found) -> None:
        async with asyncio.timeout(PATIENCE):
            while not found(self):
                self.changed.clear()
                await self.changed.wait()

    async def device(self, address: str) -> Device:
        """Connects to a peripheral."""
        device = Device(self.client, address)
        await device.connect(self.features)
        return device


@asynccontextmanager
async def at_home(port: int, key: str | None = None):
    """A connected client of the proxy at that port of this machine."""
    client = APIClient("127.0.0.1", port, None, noise_psk=key)
    async with asyncio.timeout(PATIENCE):
        await client.connect(login=True)
        info = await client.device_info()
    try:
        yield Home(client, info.bluetooth_proxy_feature_flags_compat(client.api_version))
    finally:
        await client.disconnect(force=True)
