"""Home Assistant's Bluetooth through a proxy: habluetooth's manager with the remote scanner and client of bleak-esphome.

    python -m peers.proxied_client PORT KEY listen|read …

Goes on as peers/dialogue.py says; `heard` also has how many advertisements have come over the network.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys

sys.path.insert(0, os.environ["LAB_CACHE"] + "/home")

from aioesphomeapi import APIClient  # noqa: E402
from bleak_esphome import connect_scanner  # noqa: E402
from bluetooth_adapters import BluetoothAdapters  # noqa: E402
from habluetooth import BluetoothManager, manager as manager_module  # noqa: E402
from habluetooth.wrappers import HaBleakClientWrapper  # noqa: E402

from peers.dialogue import Heard, act  # noqa: E402


class NoAdapters(BluetoothAdapters):
    """Home Assistant on a machine without Bluetooth."""

    adapters: dict = {}
    default_adapter = ""


class Manager(BluetoothManager):
    def _discover_service_info(self, service_info) -> None:
        """For integrations, of which there are none."""


class CountingClient(APIClient):
    """The client of the network, which counts what has come over it."""

    arrived = 0

    def subscribe_bluetooth_le_raw_advertisements(self, on_advertisements):
        def take(response) -> None:
            self.arrived += len(response.advertisements)
            on_advertisements(response)

        return super().subscribe_bluetooth_le_raw_advertisements(take)


async def main(port: str, key: str, *words: str) -> None:
    logging.getLogger("habluetooth").setLevel(logging.ERROR)  # it recommends a wrapper to whoever connects
    # It would also listen to the management socket of this machine, where the proxy's adapter is.
    manager_module.IS_LINUX = False
    manager = Manager(NoAdapters())
    await manager.async_setup()
    client = CountingClient("127.0.0.1", int(port), None, noise_psk=key)
    await client.connect(login=True)
    heard = Heard()
    seen: dict[str, asyncio.Event] = {}

    def take(device, data) -> None:
        heard.take(device, data)
        seen.setdefault(device.address, asyncio.Event()).set()

    manager.async_register_bleak_callback(take, {})
    scanner = connect_scanner(client, await client.device_info(), available=True).scanner
    scanner.async_setup()
    manager.async_register_scanner(scanner)

    async def connect(address: str) -> HaBleakClientWrapper:
        await seen.setdefault(address, asyncio.Event()).wait()
        link = HaBleakClientWrapper(address, timeout=60)
        await link.connect()
        return link

    await act(lambda: heard.facts() | {"arrived": client.arrived}, connect, *words)


asyncio.run(main(*sys.argv[1:]))
