"""Waits for a device until it is there, connects to it and reads a value, with habluetooth's own stack.

    python -m peers.habluetooth_reader ADAPTER OWN_ADDRESS ADDRESS UUID

Says `ready` when it listens, and `value HEX`.
"""

from __future__ import annotations

import asyncio
import sys

from peers.habluetooth_world import start_scanner

from bleak import BleakClient  # noqa: E402
from bleak.backends.device import BLEDevice  # noqa: E402
from bleak.exc import BleakError  # noqa: E402
from habluetooth.const import BDADDR_LE_RANDOM  # noqa: E402


async def main(adapter: str, own: str, address: str, uuid: str) -> None:
    manager, scanner = await start_scanner(adapter, own)
    found = asyncio.Event()

    def take(device, data) -> None:
        if device.address == address:
            found.set()

    manager.async_register_bleak_callback(take, {})
    print("ready", flush=True)
    await found.wait()
    # Its events do not tell the kind of an address.
    device = BLEDevice(address, None, {"address_type": BDADDR_LE_RANDOM})
    backend = scanner.connector.client
    backend.__name__ = "HaMgmtClient"
    while True:
        try:
            async with BleakClient(device, timeout=60, backend=backend) as client:
                value = await client.read_gatt_char(uuid)
                print(f"value {value.hex()}", flush=True)
                return
        except (BleakError, TimeoutError) as error:
            print(f"once more: {error}", flush=True)


asyncio.run(main(*sys.argv[1:]))
